"""Building blocks of the RoutingPlan models: the base model, bounded types, and Kubernetes' schema extensions."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel

LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
"""A DNS label (RFC 1123)."""


class Model(BaseModel):
    """Base of every object of the API: camelCase names, immutable, unknown fields refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


Integer = Annotated[int, Strict()]
"""An integer in spec; 1.0 and "1" are none."""
Boolean = Annotated[bool, Strict()]
"""true or false in spec; "yes" and 1 are none."""
Count = Annotated[int, Strict(), Field(ge=0)]
"""A number of things in status."""
Text = Annotated[str, Field(max_length=256)]
"""A short text in status."""
Decimal = Annotated[str, Field(max_length=32, pattern=r"^-?[0-9]+(\.[0-9]+)?$")]
"""A decimal number in status, as a string: the API conventions advise against floats."""
Time = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
"""A time (RFC 3339)."""
DnsLabel = Annotated[str, Field(min_length=1, max_length=63, pattern=LABEL_PATTERN)]


def rule(expression: str, message: str) -> dict[str, str]:
    """Return one CEL rule; standalone mode has no API server, so every rule has a validator with the same text."""
    return {"rule": expression, "message": message}


def rules(*all_rules: dict[str, str]) -> dict[str, Any]:
    """Return the schema extension that holds CEL rules."""
    return {"x-kubernetes-validations": list(all_rules)}


def list_type(kind: str, *keys: str) -> dict[str, Any]:
    """Return the schema extension that says how server-side apply merges a list: atomic, set, or map by keys."""
    extension: dict[str, Any] = {"x-kubernetes-list-type": kind}
    return extension | ({"x-kubernetes-list-map-keys": list(keys)} if keys else {})
