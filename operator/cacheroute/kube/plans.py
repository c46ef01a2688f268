"""The RoutingPlans that are known: the last good spec of each, and why a newer one cannot be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cacheroute.domain.spec import InvalidSpec, PlanRef
from cacheroute.kube.convert import RoutingPlanObject, generation, plan_ref, read
from cacheroute.kube.errors import InvalidRoutingPlanError


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One RoutingPlan.

    Attributes:
        uid: identity of the object; another object of the same name has another one.
        good: the newest spec that could be read, None where there was none.
        invalid: why the newest spec cannot be read, None where it can.
    """

    uid: str
    good: RoutingPlanObject | None
    invalid: InvalidSpec | None = None


def entry_ref(body: Mapping[str, Any]) -> PlanRef:
    """Return which RoutingPlan a body is of."""
    return plan_ref(body["metadata"])


def plan_entry(body: Mapping[str, Any], former: PlanEntry | None) -> PlanEntry:
    """Read a RoutingPlan as the API server gives it; what cannot be read leaves the former spec in force."""
    metadata = body["metadata"]
    uid = str(metadata.get("uid", ""))
    try:
        return PlanEntry(uid, read(body))
    except InvalidRoutingPlanError as error:
        good = former.good if former is not None and former.uid == uid else None
        return PlanEntry(uid, good, InvalidSpec(generation(metadata), str(error)))
