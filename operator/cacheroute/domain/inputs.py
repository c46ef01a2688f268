"""What the planner is given: the keys, seats and the plan in force as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.domain.fleet import Fleet
from cacheroute.domain.plan import Plan, Seat
from cacheroute.domain.rates import Rates
from cacheroute.domain.seating import Seating
from cacheroute.domain.spec import Balance, OverrideRoute, PlanSpec
from cacheroute.planning import types as planning
from cacheroute.planning.options import AdmissionRule, StableOptions

_ROUTES: Mapping[OverrideRoute | None, planning.Route] = {
    None: planning.Route.AUTO,
    OverrideRoute.COLD: planning.Route.COLD,
    OverrideRoute.ADMIT: planning.Route.ADMIT,
}


@dataclass(frozen=True, slots=True, eq=False)
class PlannerInput:
    """One interval's input.

    Attributes:
        keys: B canonical keys in bytewise order: measured, in force, or named by an override.
        seats: R seats in the order of their names.
        demand: of the keys.
        fleet: one entry for each seat.
        incumbent: the plan in force, NOTHING before the first.
    """

    keys: tuple[str, ...]
    seats: tuple[Seat, ...]
    demand: planning.Demand
    fleet: planning.Fleet
    incumbent: planning.Assignment


def planner_input(
    spec: PlanSpec, plan: Plan | None, fleet: Fleet, seats: Seating, rates: Rates
) -> PlannerInput:
    """Put the input together. A key in force that was not measured has had no request: its rate is 0."""
    keys = _keys(spec, plan, rates)
    return PlannerInput(
        keys=keys,
        seats=seats.seats,
        demand=_demand(spec, keys, rates),
        fleet=_fleet(spec, plan, fleet, seats.seats),
        incumbent=planning.NOTHING if plan is None else _incumbent(plan, keys, seats.seats),
    )


def stable_options(spec: PlanSpec, rates: Rates, *, repairs_only: bool) -> StableOptions:
    """Return the options of policy Stable that a spec asks for; without token counts admission goes by rate."""
    planner = spec.planning
    return StableOptions(
        imbalance=planner.max_imbalance_percent / 100,
        budget=planner.rewarm_budget_percent / 100,
        hysteresis=planner.hysteresis_percent / 100,
        admission=planner.admission if rates.prompt_tokens is not None else AdmissionRule.RATE,
        interval=float(planner.interval_seconds),
        repairs_only=repairs_only,
    )


def _keys(spec: PlanSpec, plan: Plan | None, rates: Rates) -> tuple[str, ...]:
    measured = set(rates.keys)
    further = {key for group in plan.groups for key in group.keys} if plan else set()
    further |= {one.key for one in spec.overrides if one.route is OverrideRoute.ADMIT}
    return rates.keys if further <= measured else tuple(sorted(measured | further))


def _demand(spec: PlanSpec, keys: tuple[str, ...], rates: Rates) -> planning.Demand:
    index = {key: position for position, key in enumerate(keys)}
    route, count = np.zeros(len(keys), dtype=np.int8), np.zeros(len(keys), dtype=np.int64)
    for override in spec.overrides:
        if override.key in index:
            route[index[override.key]] = _ROUTES[override.route]
            count[index[override.key]] = override.destinations or 0
    where = np.array([index[key] for key in rates.keys], dtype=np.int64)
    rate = _spread(rates.values, where, len(keys))
    tokens = rates.prompt_tokens
    if tokens is None:
        return planning.Demand(rate=rate, unkeyed=rates.unkeyed, route=route, count=count)
    known = _spread(tokens, where, len(keys))
    mean = float(tokens.sum()) / max(float(rates.values.sum()), 1e-9)
    with np.errstate(over="ignore"):
        length = np.divide(known, rate, out=np.full(rate.size, max(mean, 1.0)), where=rate > 0)
    by_tokens = spec.planning.balance is Balance.TOKENS
    return planning.Demand(
        rate=rate,
        unkeyed=rates.unkeyed,
        cost=known if by_tokens else rate,
        unkeyed_cost=rates.unkeyed_prompt_tokens if by_tokens else rates.unkeyed,
        prefix=np.maximum(length, 1.0),
        route=route,
        count=count,
    )


def _spread(values: NDArray[np.float64], where: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    spread = np.zeros(size)
    spread[where] = values
    return spread


def _fleet(spec: PlanSpec, plan: Plan | None, fleet: Fleet, seats: tuple[Seat, ...]) -> planning.Fleet:
    pools = [spec.pool(seat.pool) for seat in seats]
    known = {one.name: one for one in fleet.destinations}
    filled = [known.get(seat.destination or "") for seat in seats]
    first_new = plan.next_seat if plan else 0
    return planning.Fleet(
        capacity=np.array([pool.requests_per_second for pool in pools], dtype=np.float64),
        warm_slots=np.array([pool.warm_prefixes for pool in pools], dtype=np.int64),
        present=np.array([seat.destination is not None for seat in seats], dtype=np.bool_),
        joined=np.array([plan is not None and seat.index >= first_new for seat in seats], dtype=np.bool_),
        node=_numbered([one.node if one and one.node else f"/{i}" for i, one in enumerate(filled)]),
        zone=_numbered([one.zone if one else "" for one in filled]),
        tokens=np.array([pool.kv_cache_tokens or np.inf for pool in pools], dtype=np.float64),
    )


def _numbered(names: list[str]) -> NDArray[np.int64]:
    """Return a number for each name, the same for equal ones; UNKNOWN for the empty one."""
    numbers = {name: number for number, name in enumerate(sorted(set(names) - {""}))}
    return np.array([numbers.get(name, planning.UNKNOWN) for name in names], dtype=np.int64)


def _incumbent(plan: Plan, keys: tuple[str, ...], seats: tuple[Seat, ...]) -> planning.Assignment:
    index = {key: position for position, key in enumerate(keys)}
    position = {seat.index: at for at, seat in enumerate(seats)}
    admitted: list[int] = []
    counts: list[int] = []
    members: list[int] = []
    standby: list[int] = []
    for key, group in plan.assignments():
        admitted.append(index[key])
        counts.append(len(group.seats))
        members.extend(position.get(seat, planning.UNKNOWN) for seat in group.seats)
        standby.append(
            position.get(group.standbys[0], planning.UNKNOWN) if group.standbys else planning.UNKNOWN
        )
    return planning.Assignment(
        admitted=np.array(admitted, dtype=np.int64),
        offsets=np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64)))),
        members=np.array(members, dtype=np.int64),
        standby=np.array(standby, dtype=np.int64),
    )
