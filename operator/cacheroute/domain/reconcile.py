"""The pure step: what is observed now → what to do, and why."""

from dataclasses import dataclass, replace

import numpy as np

from cacheroute.domain.decision import Decision, Moved, Notice, Outcome
from cacheroute.domain.interval import needs_repair, next_plan
from cacheroute.domain.judgement import conditions
from cacheroute.domain.movement import moved
from cacheroute.domain.observation import Event, Observation
from cacheroute.domain.plan import MoveCause, Plan
from cacheroute.domain.rates import Rates, RatesUnavailable
from cacheroute.domain.seating import SeatChange, changes, repair
from cacheroute.domain.spec import Mode, PlanSpec
from cacheroute.domain.wording import counted
from cacheroute.planning.report import Verdict

NOT_ACCEPTED = "NotAccepted"
_WARNINGS = frozenset({Outcome.HELD})
_CHOSEN = frozenset({"ModeHold", "CostExceedsBenefit"})
"""Reasons for which a plan is held on purpose."""
_NAMES = 5
"""Destinations named in one message."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A plan and how the step came to it."""

    plan: Plan | None
    outcome: Outcome
    reason: str
    message: str


def reconcile(now: float, observation: Observation, event: Event) -> Decision:
    """Decide the plan in force from a snapshot of what is observed.

    Args:
        now: seconds since the epoch.
        observation: the snapshot.
        event: why the step is taken.

    Returns:
        The plan in force after the step with every reason; ``observation.plan`` itself where nothing changed.
    """
    repaired = _repair(observation, now)
    step = _interval(observation, repaired, now) if event is Event.INTERVAL else repaired
    movement = moved(observation.plan, step.plan) if step.plan is not None else Moved()
    return Decision(
        plan=step.plan,
        outcome=step.outcome,
        reason=step.reason,
        message=step.message,
        moved=movement,
        conditions=conditions(observation, step.plan),
        notices=_notices(observation, step),
    )


def _repair(observation: Observation, now: float) -> _Step:
    before = observation.plan
    if before is None:
        return _Step(None, Outcome.UNCHANGED, "NoPlanYet", "no plan has been made yet; all keys are cold")
    after = repair(before, observation.fleet, now)
    if after is before:
        return _Step(before, Outcome.UNCHANGED, "NothingChanged", f"plan {before.version} stays")
    seats = changes(before.seats, after.seats)
    return _Step(after, Outcome.REPAIRED, _repair_reason(seats), _repair_message(seats))


def _repair_reason(seats: tuple[SeatChange, ...]) -> str:
    return "DestinationLost" if any(seat.after is None for seat in seats) else "DestinationJoined"


def _repair_message(seats: tuple[SeatChange, ...]) -> str:
    lost = [f"{seat.before} left, its keys go to their standbys" for seat in seats if seat.after is None]
    came = [
        f"{seat.after} takes over the keys of {seat.inherited_from}"
        if seat.inherited_from
        else f"{seat.after} is back"
        for seat in seats
        if seat.after is not None
    ]
    told = (*lost, *came)
    more = f"; and {len(told) - _NAMES} more" if len(told) > _NAMES else ""
    return "; ".join(told[:_NAMES]) + more


def _interval(observation: Observation, repaired: _Step, now: float) -> _Step:
    if not observation.claim.accepted:
        return _hold(repaired, NOT_ACCEPTED, observation.claim.message)
    if observation.spec.mode is Mode.HOLD:
        return _held_by_user(observation, repaired, now)
    rates = observation.rates
    if isinstance(rates, RatesUnavailable):
        return _retired(observation, repaired, now) or _hold(repaired, rates.reason, rates.message)
    return _planned(observation, repaired, rates, now)


def _held_by_user(observation: Observation, repaired: _Step, now: float) -> _Step:
    """Keep the plan in force; keys whose destination is gone for good get another one."""
    before = repaired.plan
    message = (
        "spec.mode is Hold: the plan in force stays, and overrides and planning wait, until that is changed"
    )
    if before is None:
        return _hold(
            repaired, "ModeHold", "spec.mode is Hold and there is no plan to hold; all keys are cold"
        )
    return _retired(observation, repaired, now) or _hold(repaired, "ModeHold", message)


def _retired(observation: Observation, repaired: _Step, now: float) -> _Step | None:
    """Give keys of destinations that are gone for good another one and change nothing else; None where none is."""
    spec, fleet, before = observation.spec, observation.fleet, repaired.plan
    if before is None or not needs_repair(spec, before, fleet, now):
        return None
    plan = next_plan(spec, before, fleet, _rates_or_planned(observation, before), now, repairs_only=True)
    if plan is None or plan.revision == before.revision:
        return None
    return _Step(plan, Outcome.REPAIRED, "DestinationRetired", _installed_message(plan))


def _rates_or_planned(observation: Observation, plan: Plan) -> Rates:
    """Return what is measured, or where nothing is the rates that the plan was made for."""
    if isinstance(observation.rates, Rates):
        return observation.rates
    known = {key: rate for group in plan.groups for key, rate in zip(group.keys, group.rates, strict=True)}
    keys = tuple(sorted(known))
    values = np.array([known[key] for key in keys], dtype=np.float64)
    return Rates(keys=keys, values=values, unkeyed=0.0, rejected=0.0, time=plan.installed)


def _planned(observation: Observation, repaired: _Step, rates: Rates, now: float) -> _Step:
    plan = next_plan(observation.spec, repaired.plan, observation.fleet, rates, now)
    if plan is None:
        return _hold(repaired, "NoDestinations", "no destination is ready, so there is nothing to plan on")
    before = repaired.plan
    if before is None or plan.revision != before.revision:
        return _installed(observation.spec, repaired, plan)
    if repaired.outcome is Outcome.REPAIRED:
        return _Step(plan, repaired.outcome, repaired.reason, repaired.message)
    if plan.summary.verdict is Verdict.HELD:
        return _Step(plan, Outcome.HELD, "CostExceedsBenefit", plan.summary.phase("verdict"))
    return _Step(plan, Outcome.UNCHANGED, "RatesMeasured", f"the rates give the same plan {plan.version}")


def _installed(spec: PlanSpec, repaired: _Step, plan: Plan) -> _Step:
    """Say why a plan is installed; a repair in the same step is part of it."""
    message = _installed_message(plan)
    if spec.mode is Mode.SHADOW:
        message += "; reported only, spec.mode is Shadow"
    elif spec.mode is Mode.CANARY:
        message += f"; routes {spec.planned_percent} % of each key's requests, spec.mode is Canary"
    if repaired.outcome is Outcome.REPAIRED:
        return _Step(plan, Outcome.INSTALLED, repaired.reason, f"{repaired.message}; {message}")
    return _Step(plan, Outcome.INSTALLED, _install_reason(repaired.plan, plan), message)


def _install_reason(before: Plan | None, after: Plan) -> str:
    if before is None:
        return "FirstPlan"
    if before.policy is not after.policy:
        return "PolicyChanged"
    causes = {change.cause for change in after.changes}
    if before.basis.overrides != after.basis.overrides and causes & {MoveCause.FIXED, MoveCause.FORCED_COLD}:
        return "OverridesChanged"
    if MoveCause.LOST in causes:
        return "DestinationRetired"
    if after.next_seat > before.next_seat:
        return "DestinationJoined"
    return "RateDrift"


def _installed_message(plan: Plan) -> str:
    summary = plan.summary
    return (
        f"plan {plan.version}: {summary.keys_admitted} of {summary.keys_known} keys on "
        f"{counted(len(plan.by_destination()), 'destination')}, {summary.slots_used} of {summary.slots_total} warm "
        f"slots, {100 * summary.coverage:.0f} % of the rate, imbalance {summary.imbalance:.2f}; "
        f"{counted(summary.keys_moved, 'key')} changed{_causes(plan)}, {100 * summary.rewarm:.1f} % of the rate "
        f"lands cold{'' if summary.keys_moved else ', only standbys differ'}"
    )


def _causes(plan: Plan) -> str:
    """Return how many of the recorded changes each cause has, in brackets."""
    keys: dict[MoveCause, set[str]] = {}
    for change in plan.changes:
        keys.setdefault(change.cause, set()).add(change.key)
    told = ", ".join(f"{len(keys[cause])} {cause}" for cause in MoveCause if cause in keys)
    return f" ({told})" if told else ""


def _hold(repaired: _Step, reason: str, message: str) -> _Step:
    """Keep the plan in force; a repair that was needed is still a repair."""
    if repaired.outcome is Outcome.REPAIRED:
        return repaired
    return _Step(repaired.plan, Outcome.HELD, reason, message)


def held(decision: Decision, plan: Plan | None, why: str) -> Decision:
    """Turn a decision to install into one to hold ``plan``, because the new plan could not be stored."""
    message = f"the new plan is not in force because it could not be stored: {why}"
    notice = Notice(warning=True, reason=f"Plan{Outcome.HELD}", message=f"StoreUnavailable: {message}")
    return replace(
        decision,
        plan=plan,
        outcome=Outcome.HELD,
        reason="StoreUnavailable",
        message=message,
        moved=Moved(),
        notices=(notice,),
    )


def _notices(observation: Observation, step: _Step) -> tuple[Notice, ...]:
    if step.outcome is Outcome.UNCHANGED or _told(observation, step):
        return ()
    return (
        Notice(
            warning=(step.outcome in _WARNINGS and step.reason not in _CHOSEN)
            or step.reason == "DestinationLost",
            reason="PlanRefused" if step.reason == NOT_ACCEPTED else f"Plan{step.outcome}",
            message=f"{step.reason}: {step.message}",
        ),
    )


def _told(observation: Observation, step: _Step) -> bool:
    """Tell whether a hold for the same reason was already told; installs and repairs are always told."""
    last = observation.last
    return (
        step.outcome is Outcome.HELD
        and last is not None
        and (last.outcome, last.reason) == (step.outcome, step.reason)
    )
