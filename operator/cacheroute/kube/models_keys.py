"""spec.keys: where a request's key is found."""

import enum
from typing import Annotated, Self

from pydantic import ConfigDict, Field, Strict, field_validator, model_validator

from cacheroute.domain.keys import MAX_KEY_LENGTH, KeySource, KeySourceKind
from cacheroute.kube.schema import DnsLabel, Model, list_type, rule, rules

SECRET_HEADERS = ("authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key", "api-key")
"""Keys become labels of metrics and stand in status, so these may not carry them."""
CONNECTION_HEADERS = (
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
)
"""Headers of one connection (RFC 9110, section 7.6.1), and two that a proxy rewrites."""
OWN_PREFIX = "x-cacheroute-"

_SECRET = "is a secret, and keys are shown in metrics and status; use a header that names the tenant"  # noqa: S105 - a message
_CONNECTION = "belongs to the connection, not to the tenant"
_OWN = "begins with x-cacheroute-, which the gateway strips from requests"
_UNIQUE = "the same source stands there twice"
_ONE = "exactly one of header, cookie, bodyField, jwtClaim and clientCertificate is needed"

HeaderName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=r"^[a-z0-9!#$%&'*+.^_`|~-]+$",
        json_schema_extra=rules(
            rule(f"!(self in {list(SECRET_HEADERS)})", f"header {_SECRET}"),
            rule(f"!(self in {list(CONNECTION_HEADERS)})", f"header {_CONNECTION}"),
            rule(f"!self.startsWith('{OWN_PREFIX}')", f"header {_OWN}"),
        ),
    ),
]
_MEMBER = r"[A-Za-z_][A-Za-z0-9_-]*"
BodyField = Annotated[str, Field(min_length=1, max_length=64, pattern=rf"^{_MEMBER}(\.{_MEMBER}){{0,3}}$")]
CookieName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]


class ClientCertificateKey(enum.StrEnum):
    """What of a client certificate is a key."""

    SPIFFE_ID = "SpiffeId"


class JwtClaimModel(Model):
    """A claim of a JSON Web Token that the gateway verified."""

    provider: DnsLabel = Field(description="Name of a token provider in the gateway's settings.")
    claim: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[!-~]+$")] = Field(
        description="Claim whose value is a string, such as sub, tenant or https://example.com/tenant; where no claim "
        "has this name, dots stand between the levels, as in organization.id.",
    )


class KeySourceModel(Model):
    """One place to look for a key: in the headers, the JSON body, a verified token or a client certificate."""

    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-map-type": "atomic",
            **rules(
                rule(
                    "[has(self.header), has(self.cookie), has(self.bodyField), has(self.jwtClaim), "
                    "has(self.clientCertificate)].filter(one, one).size() == 1",
                    _ONE,
                )
            ),
        }
    )

    header: HeaderName | None = Field(
        default=None, description="Request header, in lower case, such as x-tenant-id."
    )
    body_field: BodyField | None = Field(
        default=None,
        description="Member of the JSON body whose value is a string, such as prompt_cache_key, user or "
        "metadata.user_id; dots stand between the levels.",
    )
    cookie: CookieName | None = Field(
        default=None,
        description="Name of a cookie. Keys are shown in metrics and status: name one that is no credential.",
    )

    jwt_claim: JwtClaimModel | None = Field(
        default=None,
        description="Claim of a token that the gateway verified; a request without a valid token has no such key.",
    )
    client_certificate: ClientCertificateKey | None = Field(
        default=None,
        description="SpiffeId: the URI in a client certificate that the gateway validated. Exactly one URI, "
        "beginning with spiffe://.",
    )

    @field_validator("header")
    @classmethod
    def _may_carry_a_key(cls, header: str | None) -> str | None:
        if header in SECRET_HEADERS:
            raise ValueError(f"header {_SECRET}")
        if header in CONNECTION_HEADERS:
            raise ValueError(f"header {_CONNECTION}")
        if header is not None and header.startswith(OWN_PREFIX):
            raise ValueError(f"header {_OWN}")
        return header

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        all_kinds = (self.header, self.cookie, self.body_field, self.jwt_claim, self.client_certificate)
        if sum(one is not None for one in all_kinds) != 1:
            raise ValueError(_ONE)
        return self

    def to_source(self) -> KeySource:
        """Return the source as a value."""
        if self.header is not None:
            return KeySource(KeySourceKind.HEADER, self.header)
        if self.cookie is not None:
            return KeySource(KeySourceKind.COOKIE, self.cookie)
        if self.jwt_claim is not None:
            return KeySource(KeySourceKind.JWT_CLAIM, self.jwt_claim.claim, self.jwt_claim.provider)
        if self.client_certificate is not None:
            return KeySource(KeySourceKind.CLIENT_CERTIFICATE, self.client_certificate.value)
        return KeySource(KeySourceKind.BODY_FIELD, self.body_field or "")


class KeysModel(Model):
    """What counts as one tenant: requests with the same key share a prefix and should share destinations."""

    sources: tuple[KeySourceModel, ...] = Field(
        min_length=1,
        max_length=16,
        description="Where to look, in order of preference: the first source that a request has wins.",
        json_schema_extra=list_type("atomic")
        | rules(rule("self.all(one, self.exists_one(other, one == other))", _UNIQUE)),
    )
    max_length: Annotated[int, Strict()] = Field(
        default=128,
        ge=1,
        le=MAX_KEY_LENGTH,
        description="Longer keys, keys that end with a dot, and keys with characters other than ASCII letters, digits and ._:@/+=~|-, "
        "are served by the cold route and counted.",
    )

    @field_validator("sources")
    @classmethod
    def _unique(cls, sources: tuple[KeySourceModel, ...]) -> tuple[KeySourceModel, ...]:
        if any(sources.count(one) > 1 for one in sources):
            raise ValueError(_UNIQUE)
        return sources
