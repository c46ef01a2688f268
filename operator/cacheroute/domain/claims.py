"""Which plan owns a model on a gateway: the older one, then the first by namespace/name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cacheroute.domain.keys import canonical_model
from cacheroute.domain.spec import PlanRef, PlanSpec


@dataclass(frozen=True, slots=True)
class Claim:
    """Whether a plan may serve its models.

    Attributes:
        accepted: whether it may.
        message: why not: names the model and its owner; empty where accepted.
    """

    accepted: bool
    message: str = ""


def resolve_claims(specs: Iterable[PlanSpec]) -> Mapping[PlanRef, Claim]:
    """Decide for every plan whether it may serve; a plan that loses one model serves none."""
    owners: dict[tuple[str, str], PlanRef] = {}
    claims: dict[PlanRef, Claim] = {}
    for spec in sorted(specs, key=lambda one: (one.created, one.ref)):
        claims[spec.ref] = _claim(spec, owners)
    return claims


def _claim(spec: PlanSpec, owners: dict[tuple[str, str], PlanRef]) -> Claim:
    wanted = [(spec.gateway, canonical_model(model)) for model in spec.models]
    for gateway, model in wanted:
        if (gateway, model) in owners:
            owner = owners[gateway, model]
            return Claim(
                accepted=False,
                message=f"model {model!r} on gateway {gateway!r} is served by RoutingPlan {owner}; "
                "remove the model from one of them",
            )
    owners.update(dict.fromkeys(wanted, spec.ref))
    return Claim(accepted=True)
