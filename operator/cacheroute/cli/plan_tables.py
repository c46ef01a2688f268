"""A plan as tables: what it is worth, its destinations, its busiest keys."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from cacheroute.cli.observed import ObservedHits
from cacheroute.cli.tables import add, facts, show, table
from cacheroute.domain.movement import total_rate
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanSpec
from cacheroute.domain.status import top_keys


@dataclass(frozen=True, slots=True)
class DestinationRow:
    """One seat of a plan.

    Attributes:
        name: of the destination; of a vacant seat, whom it waits for.
        pool: of its nodes.
        keys: planned there.
        load: expected requests/s, cold traffic included; 0 where the seat is vacant.
        capacity: requests/s.
        standby_for: keys that it takes over when their own destinations are gone.
    """

    name: str
    pool: str
    keys: int
    load: float
    capacity: float
    standby_for: int


def show_plan(plan: Plan, spec: PlanSpec, observed: ObservedHits | None) -> None:
    """Print a plan."""
    show(summary(plan, observed), destinations(plan, spec), keys(plan))


def summary(plan: Plan, observed: ObservedHits | None) -> Table:
    """Return what the planner says of its plan."""
    said = plan.summary
    loss = f"{said.single_loss:.3f}, after losing {said.single_loss_of}" if said.single_loss_of else ""
    overloaded = f"{', '.join(said.overloaded)}: more requests/s than the whole fleet can carry"
    return facts(
        ("keys", f"{said.keys_admitted} planned of {said.keys_known} known"),
        ("warm slots", f"{said.slots_used} used of {said.slots_total}"),
        ("coverage", f"{100 * said.coverage:.1f} % of {total_rate(plan):.4g} requests/s"),
        ("imbalance", f"{said.imbalance:.3f} max / mean"),
        ("worst loss", loss),
        ("changed", f"{said.keys_moved} keys, {100 * said.rewarm:.1f} % of the rate, churn {said.churn:.3f}"),
        ("overloaded", overloaded if said.overloaded else ""),
        *((phase.name, phase.message) for phase in plan.summary.phases),
        ("observed", _observed(observed) if observed else ""),
        title=f"plan {plan.version}, policy {plan.policy}",
    )


def _observed(seen: ObservedHits) -> str:
    return (
        f"the arrivals themselves: prefix hits {100 * seen.flat:.1f} % flat, {100 * seen.planned:.1f} % planned "
        f"({seen.requests} requests in the second half, {seen.seconds:.4g} s)"
    )


def destinations(plan: Plan, spec: PlanSpec) -> Table:
    """Return one row for each destination."""
    made = table("DESTINATION", "POOL", "KEYS", "LOAD", "LOAD/CAPACITY", "STANDBY FOR")
    for row in destination_rows(plan, {pool.name: pool.requests_per_second for pool in spec.pools}):
        part = f"{100 * row.load / row.capacity:.0f} %"
        add(made, row.name, row.pool, row.keys, f"{row.load:.3f}", part, row.standby_for)
    return made


def keys(plan: Plan) -> Table:
    """Return the keys with the highest rates."""
    made = table("KEY", "RATE", "DESTINATIONS")
    for one in top_keys(plan):
        add(made, one.key, f"{one.rate:.4g}", " ".join(one.destinations))
    return made


def destination_rows(plan: Plan, capacity: Mapping[str, float]) -> list[DestinationRow]:
    """Return one row for each seat, in the order of names; ``capacity`` is of each pool, requests/s."""
    own, standby = seat_keys(plan)
    load = _loads(plan, capacity)
    return [
        DestinationRow(
            name=seat.destination or f"vacant (was {seat.last})",
            pool=seat.pool,
            keys=own[seat.index],
            load=load[seat.index],
            capacity=capacity[seat.pool],
            standby_for=standby[seat.index],
        )
        for seat in sorted(plan.seats, key=lambda one: (one.name, one.index))
    ]


def seat_keys(plan: Plan) -> tuple[Counter[int], Counter[int]]:
    """Return how many keys each seat has, and for how many it is the standby, by index."""
    own: Counter[int] = Counter()
    standby: Counter[int] = Counter()
    for group in plan.groups:
        own.update(dict.fromkeys(group.seats, len(group.keys)))
        standby.update(dict.fromkeys(group.standbys, len(group.keys)))
    return own, standby


def _loads(plan: Plan, capacity: Mapping[str, float]) -> dict[int, float]:
    """Return the expected requests/s of each seat: shares go by capacity, cold traffic over all that are there."""
    able = {seat.index: capacity[seat.pool] if seat.destination else 0.0 for seat in plan.seats}
    load = dict.fromkeys(able, 0.0)
    cold = total_rate(plan)
    for group in plan.groups:
        chosen = next((one for one in (group.seats, group.standbys) if any(able[i] for i in one)), ())
        rate = sum(group.rates)
        _spread(load, rate, {index: able[index] for index in chosen})
        cold -= rate if chosen else 0.0
    _spread(load, max(cold, 0.0), able)
    return load


def _spread(load: dict[int, float], rate: float, able: Mapping[int, float]) -> None:
    whole = sum(able.values())
    for index, part in able.items():
        load[index] += rate * part / whole if whole else 0.0
