"""What one step sees: a snapshot, taken before it decides."""

import enum
from dataclasses import dataclass

from cacheroute.domain.claims import Claim
from cacheroute.domain.fleet import Fleet
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import RatesOutcome
from cacheroute.domain.spec import PlanSpec
from cacheroute.domain.status import LastDecision


class Event(enum.StrEnum):
    """Why a step is taken."""

    CHANGED = "Changed"
    """Something observed changed: repair what must be repaired, report."""
    INTERVAL = "Interval"
    """A control interval ended: repair, then plan."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that a step for one RoutingPlan may look at.

    Attributes:
        spec: what the user asks for.
        claim: whether the plan may serve its models.
        invalid: why a newer spec cannot be read, None where the spec is the newest.
        fleet: destinations.
        rates: the latest measurement, or why there is none.
        plan: in force, None before the first.
        gateways: proxies of its gateway.
        last: the last notable decision, None before the first step.
    """

    spec: PlanSpec
    claim: Claim
    invalid: str | None
    fleet: Fleet
    rates: RatesOutcome
    plan: Plan | None
    gateways: GatewayStatus
    last: LastDecision | None
