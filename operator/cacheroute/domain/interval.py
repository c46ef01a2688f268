"""One control interval: rates and destinations in, the next plan out."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cacheroute.domain.fleet import Fleet
from cacheroute.domain.plan import Group, Plan, PlanSummary, groups_version
from cacheroute.domain.rates import Rates
from cacheroute.domain.seating import Seating, seating
from cacheroute.domain.spec import PlanSpec, PolicyName
from cacheroute.planning import types as planning
from cacheroute.planning.paper import plan_paper

MAX_OVERLOADED = 20
_POLICIES: Mapping[PolicyName, planning.Policy] = {PolicyName.PAPER: plan_paper}


def next_plan(spec: PlanSpec, plan: Plan | None, fleet: Fleet, rates: Rates, now: float) -> Plan | None:
    """Return the plan for these rates; None where there is no destination to plan on.

    A plan that routes as the one in force keeps its identity and evidence; only its summary is renewed.
    """
    seats = seating(plan, fleet, spec.pools, now, spec.failover.replacement_grace_seconds)
    if not any(seat.destination for seat in seats.seats):
        return None
    demand = planning.Demand(rate=rates.values, unkeyed=rates.unkeyed)
    assignment = _POLICIES[spec.policy](demand, planning_fleet(spec, seats), None)
    groups = _groups(assignment, seats, rates)
    ordered = tuple(sorted(seats.seats, key=lambda seat: seat.index))
    summary = _summary(assignment, rates)
    version = groups_version(groups)
    if plan is not None and version == plan.version and ordered == plan.seats:
        return replace(plan, summary=summary)
    return Plan(
        version=version,
        seats=ordered,
        groups=groups,
        next_seat=seats.next_seat,
        policy=spec.policy,
        installed=now,
        summary=summary,
    )


def planning_fleet(spec: PlanSpec, seats: Seating) -> planning.Fleet:
    """Return capacity and warm slots of every seat, in the order of the seats."""
    pools = [spec.pool(seat.pool) for seat in seats.seats]
    return planning.Fleet(
        capacity=np.array([pool.requests_per_second for pool in pools], dtype=np.float64),
        warm_slots=np.array([pool.warm_prefixes for pool in pools], dtype=np.int64),
    )


def _groups(assignment: planning.Plan, seats: Seating, rates: Rates) -> tuple[Group, ...]:
    index = [seat.index for seat in seats.seats]
    members, offsets = assignment.members.tolist(), assignment.offsets.tolist()
    gathered: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for i, (key, standby) in enumerate(
        zip(assignment.admitted.tolist(), assignment.standby.tolist(), strict=True)
    ):
        given = tuple(sorted(index[one] for one in members[offsets[i] : offsets[i + 1]]))
        gathered[given, (index[standby],) if standby >= 0 else ()].append(key)
    values = rates.values.tolist()
    return tuple(
        Group(
            seats=given,
            standbys=standbys,
            keys=tuple(rates.keys[key] for key in sorted(keys)),
            rates=tuple(values[key] for key in sorted(keys)),
        )
        for (given, standbys), keys in sorted(gathered.items())
    )


def _summary(assignment: planning.Plan, rates: Rates) -> PlanSummary:
    report = assignment.report
    return PlanSummary(
        keys_known=report.keys_known,
        keys_admitted=report.keys_admitted,
        slots_used=report.slots_used,
        slots_total=report.slots_total,
        coverage=report.coverage,
        imbalance=report.imbalance,
        overloaded=tuple(rates.keys[key] for key in report.overloaded[:MAX_OVERLOADED].tolist()),
    )
