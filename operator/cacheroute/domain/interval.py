"""One control interval: rates and destinations in, the next plan out."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cacheroute.domain.fleet import Fleet
from cacheroute.domain.inputs import PlannerInput, planner_input, stable_options
from cacheroute.domain.phases import CAUSES, key_changes, phases
from cacheroute.domain.plan import Basis, Group, LastMove, Plan, PlanSummary, groups_version
from cacheroute.domain.rates import Rates
from cacheroute.domain.seating import seating
from cacheroute.domain.spec import PlanSpec, PolicyName
from cacheroute.planning import types as planning
from cacheroute.planning.hindsight import Hindsight, look_back
from cacheroute.planning.paper import plan_paper
from cacheroute.planning.regime import diagnose
from cacheroute.planning.report import Cause
from cacheroute.planning.stable import plan_stable

MAX_OVERLOADED = 20


def next_plan(
    spec: PlanSpec, plan: Plan | None, fleet: Fleet, rates: Rates, now: float, *, repairs_only: bool = False
) -> Plan | None:
    """Return the plan for these rates; None where there is no destination to plan on.

    A plan that routes as the one in force keeps its identity and evidence; only its summary is renewed.

    Args:
        spec: what the user asks for.
        plan: in force.
        fleet: destinations.
        rates: of the keys.
        now: seconds since the epoch.
        repairs_only: replace what is gone for good and change nothing else.
    """
    seats = seating(plan, fleet, spec.pools, now, spec.failover.replacement_grace_seconds)
    if not any(seat.destination for seat in seats.seats):
        return None
    given = planner_input(spec, plan, fleet, seats, rates)
    made = _made(spec, given, rates, repairs_only=repairs_only)
    groups = _groups(made, given, _moves(made, given, plan, now))
    ordered = tuple(sorted(seats.seats, key=lambda seat: seat.index))
    summary = _summary(made, given, _hindsight(spec, plan, made, given))
    version = groups_version(groups)
    if plan is not None and version == plan.version and ordered == plan.seats:
        return replace(plan, summary=summary, basis=Basis(spec.pools, spec.overrides))
    return Plan(
        version=version,
        seats=ordered,
        groups=groups,
        next_seat=seats.next_seat,
        policy=spec.planning.policy,
        installed=now,
        summary=summary,
        changes=key_changes(made.report.changes, given.keys, _names(given)),
        basis=Basis(spec.pools, spec.overrides),
    )


def needs_repair(spec: PlanSpec, plan: Plan, fleet: Fleet, now: float) -> bool:
    """Tell whether a destination of the plan is gone for good, so that its keys need another."""
    seats = seating(plan, fleet, spec.pools, now, spec.failover.replacement_grace_seconds)
    left = {seat.index for seat in seats.seats}
    return any(seat not in left for group in plan.groups for seat in (*group.seats, *group.standbys))


def _made(spec: PlanSpec, given: PlannerInput, rates: Rates, *, repairs_only: bool) -> planning.Plan:
    if spec.planning.policy is PolicyName.PAPER and not repairs_only:
        return _diagnosed(plan_paper(given.demand, given.fleet, given.incumbent), given)
    options = stable_options(spec, rates, repairs_only=repairs_only)
    return plan_stable(given.demand, given.fleet, given.incumbent, options=options)


def _diagnosed(made: planning.Plan, given: PlannerInput) -> planning.Plan:
    """Return the plan of Paper, which does not ask whether affinity is worth it, with the answer."""
    fleet, report = given.fleet, made.report
    regime = diagnose(
        given.demand.rate,
        made.admitted,
        np.diff(made.offsets),
        (fleet.size, float(fleet.warm_slots.mean())),
        report.imbalance,
    )
    return replace(made, report=replace(report, regime=regime))


def _moves(made: planning.Plan, given: PlannerInput, plan: Plan | None, now: float) -> Mapping[str, LastMove]:
    """Return for every key when and why it got its destinations: now where it changed, else as before."""
    known: dict[str, LastMove] = {}
    for group in plan.groups if plan else ():
        known.update(zip(group.keys, group.moves, strict=False))
    changes = made.report.changes
    for key, cause, source in zip(
        changes.key.tolist(), changes.cause.tolist(), changes.source.tolist(), strict=True
    ):
        left = given.seats[source].name if source >= 0 else None
        known[given.keys[key]] = LastMove(now, CAUSES[Cause(cause)], left)
    return known


def _groups(made: planning.Plan, given: PlannerInput, moves: Mapping[str, LastMove]) -> tuple[Group, ...]:
    index = [seat.index for seat in given.seats]
    members, offsets = made.members.tolist(), made.offsets.tolist()
    gathered: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for i, (key, standby) in enumerate(zip(made.admitted.tolist(), made.standby.tolist(), strict=True)):
        seats = tuple(sorted(index[one] for one in members[offsets[i] : offsets[i + 1]]))
        gathered[seats, (index[standby],) if standby >= 0 else ()].append(key)
    return tuple(
        _group(seats, standbys, sorted(keys), given, moves)
        for (seats, standbys), keys in sorted(gathered.items())
    )


def _group(
    seats: tuple[int, ...],
    standbys: tuple[int, ...],
    keys: list[int],
    given: PlannerInput,
    moves: Mapping[str, LastMove],
) -> Group:
    names = tuple(given.keys[key] for key in keys)
    return Group(
        seats=seats,
        standbys=standbys,
        keys=names,
        rates=tuple(given.demand.rate[keys].tolist()),
        moves=tuple(moves[name] for name in names) if all(name in moves for name in names) else (),
    )


def _names(given: PlannerInput) -> tuple[str, ...]:
    return tuple(seat.name for seat in given.seats)


def _hindsight(spec: PlanSpec, plan: Plan | None, made: planning.Plan, given: PlannerInput) -> Hindsight:
    """Put the rates on the plan that was in force; before the first plan, on that one."""
    older = made if plan is None else given.incumbent
    return look_back(older, given.demand, given.fleet, float(spec.rates.window_seconds))


def _summary(made: planning.Plan, given: PlannerInput, hindsight: Hindsight) -> PlanSummary:
    report, names = made.report, _names(given)
    loss, regime = report.loss, report.regime
    return PlanSummary(
        keys_known=report.keys_known,
        keys_admitted=report.keys_admitted,
        slots_used=report.slots_used,
        slots_total=report.slots_total,
        coverage=report.coverage,
        imbalance=report.imbalance,
        overloaded=tuple(given.keys[key] for key in report.overloaded[:MAX_OVERLOADED].tolist()),
        single_loss=loss.imbalance,
        single_loss_of=names[loss.destination] if loss.destination >= 0 else "",
        churn=report.churn,
        keys_moved=report.keys_moved,
        rewarm=report.rewarm_rate / report.total_rate if report.total_rate > 0 else 0.0,
        threshold=report.admission.threshold,
        bar=report.admission.bar,
        flat_hit=regime.flat_hit,
        planned_hit=regime.planned_hit,
        multiplier=regime.multiplier,
        worth=regime.worth,
        cautions=hindsight.cautions,
        verdict=report.verdict.verdict,
        phases=phases(report, names, float(given.fleet.capacity[given.fleet.present].sum()), hindsight),
    )
