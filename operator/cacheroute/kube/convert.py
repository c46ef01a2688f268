"""A RoutingPlan as the API server or a file gives it → the domain's values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cacheroute.domain.keys import KEY_PUNCTUATION
from cacheroute.domain.spec import PlanRef, PlanSpec, RatesSpec
from cacheroute.kube.errors import InvalidRoutingPlanError
from cacheroute.kube.models_spec import RatesModel, SpecModel
from cacheroute.kube.names import API_VERSION, KIND
from cacheroute.kube.selectors import Selector

_PLAIN = {
    "missing": "is needed",
    "extra_forbidden": "is no field that this version of CacheRoute serves",
}


@dataclass(frozen=True, slots=True)
class Placement:
    """Which pods are destinations and on which nodes.

    Attributes:
        pods: selects pods in the namespace of the RoutingPlan.
        port: TCP port of the OpenAI API.
        pools: name and node selector of each pool; the first that matches wins.
    """

    pods: Selector
    port: int
    pools: tuple[tuple[str, Selector], ...]


@dataclass(frozen=True, slots=True)
class RoutingPlanObject:
    """A RoutingPlan that could be read."""

    spec: PlanSpec
    placement: Placement


def to_spec(document: object) -> PlanSpec:
    """Return the spec of a RoutingPlan; metadata that only the API server sets may be missing.

    Raises:
        InvalidRoutingPlanError: it is no RoutingPlan, or a field is wrong.
    """
    return read(document).spec


def read(document: object) -> RoutingPlanObject:
    """Return everything that a RoutingPlan asks for.

    Raises:
        InvalidRoutingPlanError: it is no RoutingPlan, or a field is wrong; one line with object and field.
    """
    body = _routing_plan(document)
    metadata = _mapping(body.get("metadata"), "metadata")
    ref = plan_ref(metadata)
    try:
        model = SpecModel.model_validate(body.get("spec"))
    except ValidationError as error:
        raise InvalidRoutingPlanError(f"{KIND} {ref}: {_first(error)}") from error
    return RoutingPlanObject(_spec(ref, metadata, model), _placement(model))


def plan_ref(metadata: Mapping[str, Any]) -> PlanRef:
    """Return the name of a RoutingPlan; without a namespace it is in ``default``.

    Raises:
        InvalidRoutingPlanError: it has no name.
    """
    name, namespace = metadata.get("name"), metadata.get("namespace") or "default"
    if not isinstance(name, str) or not name or not isinstance(namespace, str):
        raise InvalidRoutingPlanError(f"{KIND}: metadata.name: is needed")
    return PlanRef(namespace, name)


def generation(metadata: Mapping[str, Any]) -> int:
    """Return the generation of an object's spec; 1 where nobody counts."""
    value = metadata.get("generation", 1)
    return value if isinstance(value, int) else 1


def _routing_plan(document: object) -> Mapping[str, Any]:
    body = _mapping(document, "document")
    for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if body.get(field) != wanted:
            raise InvalidRoutingPlanError(f"{KIND}: {field}: must be {wanted!r}, not {body.get(field)!r}")
    return body


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRoutingPlanError(f"{KIND}: {name}: must be an object, not {type(value).__name__}")
    return value


def _spec(ref: PlanRef, metadata: Mapping[str, Any], model: SpecModel) -> PlanSpec:
    return PlanSpec(
        ref=ref,
        generation=generation(metadata),
        created=_created(metadata),
        gateway=model.gateway,
        models=model.models,
        pools=tuple(pool.to_pool() for pool in model.node_pools),
        key_sources=tuple(source.to_source() for source in model.keys.sources),
        mode=model.mode,
        canary_percent=model.canary_percent,
        explain_headers=model.explain_headers,
        max_key_length=model.keys.max_length,
        rates=_rates(model.rates),
        planning=model.planning.to_spec(),
        failover=model.failover.to_spec(),
        limits=model.limits.to_spec(),
        overrides=tuple(one.to_override() for one in model.overrides),
    )


def _rates(model: RatesModel) -> RatesSpec:
    return RatesSpec(model.window_seconds, model.min_coverage_percent)


def _placement(model: SpecModel) -> Placement:
    return Placement(
        pods=model.destinations.selector.to_selector(),
        port=model.destinations.port,
        pools=tuple((pool.name, pool.node_selector.to_selector()) for pool in model.node_pools),
    )


def _created(metadata: Mapping[str, Any]) -> float:
    """Return the creation time, seconds since the epoch; 0 where nobody set one."""
    stamp = metadata.get("creationTimestamp")
    try:
        return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else 0.0
    except ValueError:
        return 0.0


def _first(error: ValidationError) -> str:
    """Return the first error as ``field: what``, and how many more there are."""
    details = error.errors(include_url=False)
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return f"{_field(details[0])}: {_message(details[0])}{more}"


def _field(detail: ErrorDetails) -> str:
    parts = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in detail["loc"])
    return "spec" + "".join(parts)


def _message(detail: ErrorDetails) -> str:
    if detail["type"] == "string_pattern_mismatch":
        return _pattern(detail)
    text = _PLAIN.get(detail["type"], detail["msg"].removeprefix("Value error, "))
    return " ".join(text.split())


def _pattern(detail: ErrorDetails) -> str:
    if detail["loc"][0] == "overrides":
        spelling = f"must be lower case ASCII letters, digits and {KEY_PUNCTUATION}, without a dot at the end"
        return f"{spelling}: keys compare without regard to case"
    return f"has a form that is not allowed here, it must match {detail.get('ctx', {}).get('pattern')}"
