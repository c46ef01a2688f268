"""The settings of one proxy: they stand in its bootstrap and reach the operator in its node metadata.

They belong to who runs the gateway, never to a RoutingPlan: a plan that could name a URL for keys would make the
gateway ask any server in the cluster. What a proxy says is checked here like any input; see decision 0009.
"""

import enum
import json
import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

DEFAULT_ADDRESS = "0.0.0.0"
DEFAULT_PORT = 10080
LARGEST_PORT = 65_535
DEFAULT_BODY_BYTES = 8 * 1024 * 1024
LARGEST_BODY_BYTES = 1024 * 1024 * 1024
MAX_PROVIDERS = 16
MAX_KEY_SET = 65_536
"""Characters of an inline JSON Web Key Set."""

_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
_TEXT = r"^[!-~]+$"
_PATH = r"^/[!-~]*[!-.0-~]$"
_HEADER = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
_URI = r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[!-~]*)?$"

Text = Annotated[str, Field(min_length=1, max_length=256, pattern=_TEXT)]


class _Settings(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class TokenHeader(_Settings):
    """A header that carries a token.

    Attributes:
        name: of the header.
        value_prefix: what stands before the token, such as ``Bearer`` and a blank.
    """

    name: Annotated[str, Field(min_length=1, max_length=128, pattern=_HEADER)]
    value_prefix: Annotated[str, Field(max_length=32, pattern=r"^[ -~]*$")] = ""


class JwtProvider(_Settings):
    """Whose JSON Web Tokens (RFC 7519) Envoy verifies; spec.keys names a provider and a claim of its tokens.

    Attributes:
        name: what RoutingPlans call it.
        issuer: what the claim ``iss`` must be.
        audiences: one of them must be in the claim ``aud``; empty to accept any.
        jwks: JSON Web Key Set (RFC 7517), as JSON; exactly one of this and ``jwks_uri``.
        jwks_uri: where the key set is fetched, http or https; the bootstrap has a cluster for it.
        ca_file: certificates that are trusted for an https ``jwks_uri``, a path in the proxy's container.
        from_headers: where tokens are; empty for ``Authorization: Bearer``.
        required: whether a request without a valid token is answered 401. Where several providers are required, a
            token of one of them is enough.
        forward: whether a verified token is passed on to the model server.
    """

    name: Annotated[str, Field(pattern=_NAME)]
    issuer: Text
    audiences: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    jwks: Annotated[str, Field(max_length=MAX_KEY_SET)] = ""
    jwks_uri: Annotated[str, Field(max_length=512, pattern=rf"{_URI}|^$")] = ""
    ca_file: Annotated[str, Field(max_length=256, pattern=_PATH)] = "/etc/ssl/certs/ca-certificates.crt"
    from_headers: Annotated[tuple[TokenHeader, ...], Field(max_length=8)] = ()
    required: bool = False
    forward: bool = True

    @field_validator("jwks", mode="before")
    @classmethod
    def _as_text(cls, jwks: Any) -> Any:
        return json.dumps(jwks) if isinstance(jwks, dict) else jwks

    @field_validator("jwks")
    @classmethod
    def _is_a_key_set(cls, jwks: str) -> str:
        if jwks and not _has_keys(jwks):
            raise ValueError("is no JSON Web Key Set: a JSON object with a list of 'keys'")
        return jwks

    @field_validator("jwks_uri")
    @classmethod
    def _has_a_port(cls, uri: str) -> str:
        port = re.match(r"https?://[^:/]*:([0-9]+)", uri)
        if port and not 1 <= int(port[1]) <= LARGEST_PORT:
            raise ValueError(f"has port {port[1]}, which is not from 1 to {LARGEST_PORT}")
        return uri

    @model_validator(mode="after")
    def _has_one_key_set(self) -> Self:
        if bool(self.jwks) == bool(self.jwks_uri):
            raise ValueError("exactly one of jwks and jwksUri is needed")
        return self


class ClientCertificates(enum.StrEnum):
    """Whether clients show a certificate; one that the client CA did not sign is always refused."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class TlsSettings(_Settings):
    """TLS towards clients.

    Attributes:
        secrets: the folder that `cacheroute gateway secrets` writes, a path in the proxy's container. Its files name
            those of certificate, key and client CA, which Envoy reads again when they change.
        client_certificates: whether clients are asked for a certificate.
    """

    secrets: Annotated[str, Field(max_length=256, pattern=_PATH)]
    client_certificates: ClientCertificates = ClientCertificates.NONE


class GatewaySettings(_Settings):
    """What a proxy wants of its listener.

    Attributes:
        address: where it listens.
        port: where it listens.
        max_body_bytes: largest request body; a larger one is answered with 413.
        jwt: whose tokens it verifies.
        tls: how it speaks TLS; None for plain HTTP.
    """

    address: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z.:%-]+$")] = (
        DEFAULT_ADDRESS
    )
    port: Annotated[int, Field(ge=1, le=LARGEST_PORT)] = DEFAULT_PORT
    max_body_bytes: Annotated[int, Field(ge=1024, le=LARGEST_BODY_BYTES)] = DEFAULT_BODY_BYTES
    jwt: Annotated[tuple[JwtProvider, ...], Field(max_length=MAX_PROVIDERS)] = ()
    tls: TlsSettings | None = None

    @field_validator("jwt")
    @classmethod
    def _names_differ(cls, jwt: tuple[JwtProvider, ...]) -> tuple[JwtProvider, ...]:
        if len({one.name for one in jwt}) < len(jwt):
            raise ValueError("two providers have the same name")
        return jwt


def first_problem(error: ValidationError) -> str:
    """Return the first problem in one line: which field, and what is wrong with it."""
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(step) for step in problem["loc"])
    text = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {text}" if place else text


def _has_keys(jwks: str) -> bool:
    try:
        document = json.loads(jwks)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get("keys"), list)
