"""The reference of the RoutingPlan's fields, from the schema that the API server enforces."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from cacheroute.domain.conditions import ConditionType
from cacheroute.kube.crd import text as crd_text

_PAGE = """# Fields of a RoutingPlan

`cacheroute.dev/v1alpha1`, from the schema that the API server enforces (`kubectl explain routingplan.spec` shows the
same). Required fields are bold. Without a value in *default* a field is left out where it is not needed.
"""
_BOUNDS = {
    "minimum": ">= {}",
    "maximum": "<= {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}


def field_reference() -> str:
    """Return the page."""
    version = yaml.safe_load(crd_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    parts = [_PAGE]
    for name in ("spec", "status"):
        parts += [f"## {name}", "", "| field | type | default | meaning |", "|---|---|---|---|"]
        parts += [*_rows(version[name], ""), ""]
    parts.append(
        f"Conditions: {', '.join(f'`{one.value}`' for one in ConditionType)}; Ready sums the others up."
    )
    return "\n".join((*parts, ""))


def _rows(schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        inner = field["items"] if field.get("type") == "array" else field
        path = f"{prefix}{name}{'[]' if inner is not field else ''}"
        shown = f"**`{path}`**" if name in required else f"`{path}`"
        yield f"| {shown} | {_type(field, inner)} | {_default(field)} | {_cell(field.get('description', ''))} |"
        if inner.get("properties"):
            yield from _rows(inner, f"{path}.")


def _type(field: Mapping[str, Any], inner: Mapping[str, Any]) -> str:
    if "enum" in inner:
        return _cell(" or ".join(f"`{one}`" for one in inner["enum"]))
    bounds = [text.format(field[name]) for name, text in _BOUNDS.items() if name in field]
    kind = (
        f"list of {inner.get('type', 'object')}" if inner is not field else str(field.get("type", "object"))
    )
    return _cell(", ".join((kind, *bounds)))


def _default(field: Mapping[str, Any]) -> str:
    return f"`{json.dumps(field['default'])}`" if "default" in field and field.get("type") != "object" else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
