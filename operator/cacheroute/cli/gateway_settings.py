"""Options of ``cacheroute gateway`` that describe the proxy's listener."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import TypeAdapter, ValidationError

from cacheroute.cli.errors import USAGE, fail
from cacheroute.proxy.settings import (
    LARGEST_BODY_BYTES,
    ClientCertificates,
    GatewaySettings,
    JwtProvider,
    TlsSettings,
    first_problem,
)

MaxBody = Annotated[
    int,
    typer.Option(
        "--max-body-bytes",
        min=1024,
        max=LARGEST_BODY_BYTES,
        help="Larger request bodies are answered with 413.",
    ),
]
MaxHeap = Annotated[
    int,
    typer.Option(
        "--max-heap-bytes",
        min=0,
        help="Memory that Envoy may take; near it new requests are answered with 503. Request bodies that are not "
        "complete take most of it. 0: no bound.",
    ),
]
JwtProviders = Annotated[
    Path | None,
    typer.Option(
        "--jwt-providers",
        help="YAML file with a list of token providers: name, issuer, audiences, jwks or jwksUri, caFile, "
        "fromHeaders, required, forward. See docs/keys.md.",
    ),
]
TlsSecrets = Annotated[
    str,
    typer.Option(
        "--tls-secrets",
        help="Speak TLS with the certificates that the files in this folder name, an absolute path where Envoy "
        "runs; `cacheroute gateway secrets` writes it.",
    ),
]
Certificates = Annotated[
    ClientCertificates,
    typer.Option(
        "--client-certificates", help="Whether clients are asked for a certificate (with --tls-secrets)."
    ),
]


def read_providers(path: Path | None) -> tuple[JwtProvider, ...]:
    """Return the token providers in a file; where it has a mistake, say so and end with exit code 2."""
    if path is None:
        return ()
    try:
        listed: Any = yaml.safe_load(path.read_text("utf-8"))
        if not isinstance(listed, list):
            fail(f"{path}: is no list of token providers (- name: …)", USAGE)
        providers = TypeAdapter(tuple[JwtProvider, ...]).validate_python(listed)
        return GatewaySettings(jwt=providers).jwt
    except ValidationError as error:
        fail(f"{path}: {first_problem(error)}", USAGE)
    except OSError as error:
        fail(f"--jwt-providers {path}: cannot be read: {error.strerror}", USAGE)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        fail(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}", USAGE)
    except RecursionError:
        fail(f"{path}: cannot be read as YAML: it is nested too deeply", USAGE)


def read_tls(secrets: str, client_certificates: ClientCertificates) -> TlsSettings | None:
    """Return how the proxy speaks TLS; where the options do not go together, say so and end with exit code 2."""
    if not secrets and client_certificates is not ClientCertificates.NONE:
        fail("--client-certificates: needs --tls-secrets, without TLS nobody shows a certificate", USAGE)
    if not secrets:
        return None
    try:
        return TlsSettings(secrets=secrets, client_certificates=client_certificates)
    except ValidationError as error:
        fail(f"--tls-secrets: {first_problem(error)}", USAGE)
