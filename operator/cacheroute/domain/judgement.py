"""The conditions of a RoutingPlan, each judged from the same snapshot."""

from cacheroute.domain.conditions import Condition, ConditionStatus, ConditionType
from cacheroute.domain.fleet import DestinationState, Fleet
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.observation import Observation
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason
from cacheroute.domain.spec import Mode, PlanSpec, PolicyName

_NAMES = 3
"""Objects named in one message."""


def conditions(observation: Observation, plan: Plan | None) -> tuple[Condition, ...]:
    """Judge every condition for ``plan``, the plan in force after the step; in the order of ConditionType."""
    parts = (
        accepted(observation),
        destinations_ready(observation.fleet),
        rates_available(observation.rates, needs_tokens=observation.spec.needs_tokens),
        planned(observation, plan),
        synced(observation),
    )
    return (*parts, _ready(parts, observation.spec))


def accepted(observation: Observation) -> Condition:
    """Judge whether the newest spec is served."""
    if not observation.claim.accepted:
        return _false(ConditionType.ACCEPTED, "ModelClaimed", observation.claim.message)
    if observation.invalid is not None:
        return _false(
            ConditionType.ACCEPTED, "Invalid", f"{observation.invalid}; the last good spec stays in force"
        )
    return _true(ConditionType.ACCEPTED, "Accepted", f"the spec is served{_remark(observation)}")


def _remark(observation: Observation) -> str:
    """Return what of the overrides cannot be served, empty where all can."""
    spec = observation.spec
    if spec.overrides and spec.planning.policy is PolicyName.PAPER:
        return "; spec.overrides are not looked at by policy Paper"
    there = len(observation.fleet.destinations)
    for one in observation.spec.overrides:
        if one.destinations is not None and one.destinations > there > 0:
            return f"; the override of key {one.key!r} asks for {one.destinations} destinations, there are {there}"
    return ""


def destinations_ready(fleet: Fleet) -> Condition:
    """Judge whether there is a destination; says which pods and pools are none."""
    ready = len(fleet.in_state(DestinationState.READY))
    total = len(fleet.destinations)
    remarks = _remarks(fleet)
    if ready:
        message = f"{ready} of {total} destinations are ready" + remarks
        return _true(ConditionType.DESTINATIONS_READY, "Ready" if ready == total else "SomeNotReady", message)
    if total:
        return _false(
            ConditionType.DESTINATIONS_READY, "NoneReady", f"none of {total} destinations is ready{remarks}"
        )
    reason = "NoPodOnPool" if fleet.unpooled else "NoPods"
    message = "the selector of spec.destinations matches no pod on a node of spec.nodePools" + remarks
    return _false(ConditionType.DESTINATIONS_READY, reason, message)


def _remarks(fleet: Fleet) -> str:
    remarks = ""
    if fleet.unpooled:
        remarks += f"; {_named(fleet.unpooled)} in no pool of spec.nodePools"
    if fleet.empty_pools:
        remarks += f"; no node matches pool {_named(fleet.empty_pools)}"
    return remarks


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def rates_available(rates: RatesOutcome, *, needs_tokens: bool = False) -> Condition:
    """Judge whether per-key rates are measured, and tokens where the planner is to look at them."""
    if isinstance(rates, Rates):
        message = f"{len(rates.keys)} keys at {rates.values.sum():.2f} requests/s, {rates.unkeyed:.2f} without a key"
        if rates.unusable:
            message += f"; {rates.unusable} keys left out, the source gives no number for them"
        cut = _cut(rates)
        if cut:
            return _true(ConditionType.RATES_AVAILABLE, "KeysCut", f"{message}; {cut}")
        if needs_tokens and rates.prompt_tokens is None:
            message += (
                "; the engines report no prompt tokens, so the plan goes by requests (vLLM sends usage)"
            )
            return _true(ConditionType.RATES_AVAILABLE, "NoTokens", message)
        return _true(ConditionType.RATES_AVAILABLE, "Measured", message)
    if rates.reason is RatesReason.NOT_ASKED:
        return Condition(ConditionType.RATES_AVAILABLE, ConditionStatus.UNKNOWN, rates.reason, rates.message)
    return _false(ConditionType.RATES_AVAILABLE, rates.reason, rates.message)


def _cut(rates: Rates) -> str:
    """Return why some keys have no rate of their own, empty where all have."""
    if rates.uncounted:
        return (
            f"the proxies keep as many counters as they may and dropped {rates.uncounted:.2f} additions/s: keys that "
            "had none are cold until unused counters are gone; does a client invent keys?"
        )
    return "too many keys: those with the lowest rates are cold" if rates.cut else ""


def planned(observation: Observation, plan: Plan | None) -> Condition:
    """Judge whether a plan is in force."""
    if plan is None:
        message = (
            "no plan has been made yet; all keys are cold. The first one needs rates and a ready destination"
        )
        return _false(ConditionType.PLANNED, "NoPlanYet", message)
    if observation.spec.mode is Mode.SHADOW:
        message = f"plan {plan.version} is reported but not routed: spec.mode is Shadow"
        return _true(ConditionType.PLANNED, "Shadow", message)
    if observation.spec.mode is Mode.HOLD:
        message = f"plan {plan.version} is held in force: spec.mode is Hold"
        return _true(ConditionType.PLANNED, "Hold", message)
    reason, force = _force(observation.spec)
    overload = _overload(observation)
    uneven = _uneven(observation, plan)
    if overload:
        return _true(ConditionType.PLANNED, "Overloaded", f"plan {plan.version} {force}; {overload}")
    return _true(ConditionType.PLANNED, reason, f"plan {plan.version} {force}{uneven}")


def _force(spec: PlanSpec) -> tuple[str, str]:
    """Return the reason and the words for how far a plan routes."""
    if spec.mode is Mode.CANARY:
        return (
            "Canary",
            f"routes {spec.planned_percent} % of each planned key's requests: spec.mode is Canary",
        )
    return "InForce", "is in force"


def _uneven(observation: Observation, plan: Plan) -> str:
    """Return why the plan is less even than the spec allows, empty where it is not."""
    allowed = 1.0 + observation.spec.planning.max_imbalance_percent / 100
    said = plan.summary.phase("rebalance")
    if plan.summary.imbalance <= allowed or not said:
        return ""
    return f"; imbalance {plan.summary.imbalance:.2f} is above the allowed {allowed:.2f}: {said}"


def _overload(observation: Observation) -> str:
    """Return what to say where more is asked than the ready destinations carry, empty otherwise."""
    rates, spec = observation.rates, observation.spec
    if not isinstance(rates, Rates):
        return ""
    pools = {pool.name: pool.requests_per_second for pool in spec.pools}
    ready = observation.fleet.in_state(DestinationState.READY)
    capacity = sum(pools.get(one.pool, 0.0) for one in ready)
    asked = float(rates.values.sum()) + rates.unkeyed
    if not ready or asked <= capacity:
        return ""
    return (
        f"{asked:.4g} requests/s are asked of {len(ready)} destinations that carry {capacity:.4g} by "
        "spec.nodePools: more destinations are needed, or capacity.requestsPerSecond is set too low"
    )


def synced(observation: Observation) -> Condition:
    """Judge whether every connected proxy serves the newest snapshot."""
    gateways = observation.gateways
    if gateways.rejections:
        first = gateways.rejections[0]
        return _false(ConditionType.SYNCED, first.reason, f"proxy {first.node}: {first.message}")
    if not gateways.connected:
        message = f"no proxy of gateway {observation.spec.gateway!r} is connected (Envoy with that --service-cluster)"
        return _false(ConditionType.SYNCED, "NoProxies", message)
    return _synced(gateways, _without_provider(observation))


def _synced(gateways: GatewayStatus, remark: str) -> Condition:
    message = f"{gateways.synced} of {gateways.connected} proxies serve the newest snapshot{remark}"
    if gateways.synced < gateways.connected:
        return _false(ConditionType.SYNCED, "Pending", message)
    return _true(ConditionType.SYNCED, "Synced", message)


def _without_provider(observation: Observation) -> str:
    """Return what to say where a token provider of the plan's keys is missing in a proxy's settings, else nothing."""
    wanted = {one.provider for one in observation.spec.key_sources if one.provider}
    missing = ", ".join(sorted(wanted - observation.gateways.providers))
    return (
        f"; keys.sources: jwtClaim finds nothing, a proxy has no token provider {missing}" if missing else ""
    )


_ROUTED = {
    Mode.SHADOW: "the plan is reported only: spec.mode is Shadow, each request goes to the less loaded of two pods",
    Mode.CANARY: "{percent} % of each planned key's requests go by plan, all others to the less loaded of two pods: "
    "spec.mode is Canary",
    Mode.ACTIVE: "requests are routed as planned",
    Mode.HOLD: "requests are routed by the held plan: spec.mode is Hold, overrides and planning wait",
}


def _ready(parts: tuple[Condition, ...], spec: PlanSpec) -> Condition:
    needed = [part for part in parts if part.type is not ConditionType.RATES_AVAILABLE]
    missing = next((part for part in needed if part.status is not ConditionStatus.TRUE), None)
    if missing is None:
        return _true(ConditionType.READY, "Ready", _ROUTED[spec.mode].format(percent=spec.planned_percent))
    return _false(ConditionType.READY, missing.reason, f"{missing.type}: {missing.message}")


def _true(kind: ConditionType, reason: str, message: str) -> Condition:
    return Condition(kind, ConditionStatus.TRUE, reason, message)


def _false(kind: ConditionType, reason: str, message: str) -> Condition:
    return Condition(kind, ConditionStatus.FALSE, reason, message)
