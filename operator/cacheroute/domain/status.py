"""The status of a RoutingPlan as a value: what `kubectl get` and `describe` show, whoever writes it."""

from dataclasses import dataclass

from cacheroute.domain.arms import Arms
from cacheroute.domain.conditions import Condition, ConditionStatus, ConditionType
from cacheroute.domain.decision import Decision, Moved, Outcome
from cacheroute.domain.fleet import DestinationState, Fleet
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates, RatesOutcome, ServedTokens
from cacheroute.domain.spec import InvalidSpec, PlanSpec

TOP_KEYS = 20


@dataclass(frozen=True, slots=True)
class LastDecision:
    """The last step that changed, or should have changed, something.

    Attributes:
        time: seconds since the epoch.
        outcome: what happened to the plan.
        reason: CamelCase word for programs.
        message: one line for people.
        moved: by that step.
    """

    time: float
    outcome: Outcome
    reason: str
    message: str
    moved: Moved


@dataclass(frozen=True, slots=True)
class TopKey:
    """One of the keys with the highest planned rate.

    Attributes:
        key: canonical.
        rate: requests/s when it was planned.
        destinations: names of those that serve it now, sorted.
    """

    key: str
    rate: float
    destinations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """Everything that is reported of one RoutingPlan.

    Attributes:
        generation: of the spec that was seen.
        mode: of the spec.
        conditions: all, in order.
        plan: in force, None before the first.
        destinations: number of destinations by state.
        gateways: proxies of its gateway.
        served: measured token hit, None where unknown.
        arms: measured figures of both arms, None where unknown.
        last_decision: None before the first step.
        top_keys: at most TOP_KEYS.
    """

    generation: int
    mode: str
    conditions: tuple[Condition, ...]
    plan: Plan | None
    destinations: dict[DestinationState, int]
    gateways: GatewayStatus
    served: ServedTokens | None
    arms: Arms | None
    last_decision: LastDecision | None
    top_keys: tuple[TopKey, ...]


def plan_status(
    spec: PlanSpec,
    fleet: Fleet,
    gateways: GatewayStatus,
    decision: Decision,
    history: tuple[LastDecision | None, RatesOutcome],
) -> PlanStatus:
    """Put together what is reported; ``history`` is the last notable decision and the last measurement."""
    last_decision, rates = history
    measured = rates if isinstance(rates, Rates) else None
    return PlanStatus(
        generation=spec.generation,
        mode=spec.mode,
        conditions=decision.conditions,
        plan=decision.plan,
        destinations={state: len(fleet.in_state(state)) for state in DestinationState},
        gateways=gateways,
        served=measured.served if measured else None,
        arms=measured.arms if measured else None,
        last_decision=last_decision,
        top_keys=top_keys(decision.plan),
    )


def top_keys(plan: Plan | None) -> tuple[TopKey, ...]:
    """Return the TOP_KEYS keys with the highest planned rate, highest first, ties by key."""
    if plan is None:
        return ()
    rated = (
        (rate, key, group) for group in plan.groups for key, rate in zip(group.keys, group.rates, strict=True)
    )
    best = sorted(rated, key=lambda one: (-one[0], one[1]))[:TOP_KEYS]
    return tuple(TopKey(key, rate, serving(plan, group.seats)) for rate, key, group in best)


def serving(plan: Plan, seats: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the destinations that fill ``seats`` now, sorted; empty where all are vacant."""
    wanted = frozenset(seats)
    return tuple(sorted(one.destination for one in plan.seats if one.index in wanted and one.destination))


def refused_status(invalid: InvalidSpec) -> PlanStatus:
    """Return the status of a RoutingPlan that was never readable: nothing is known but why."""
    unknown = (
        Condition(kind, ConditionStatus.UNKNOWN, "Invalid", "the spec cannot be read")
        for kind in ConditionType
        if kind not in (ConditionType.ACCEPTED, ConditionType.READY)
    )
    accepted = Condition(ConditionType.ACCEPTED, ConditionStatus.FALSE, "Invalid", invalid.message)
    ready = Condition(ConditionType.READY, ConditionStatus.FALSE, "Invalid", f"Accepted: {invalid.message}")
    return PlanStatus(
        generation=invalid.generation,
        mode="",
        conditions=(accepted, *unknown, ready),
        plan=None,
        destinations=dict.fromkeys(DestinationState, 0),
        gateways=GatewayStatus(),
        served=None,
        arms=None,
        last_decision=None,
        top_keys=(),
    )
