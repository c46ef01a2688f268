"""The invariants of ``Stable`` for any plan in force, any fleet and any demand."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cacheroute.planning.options import StableOptions
from cacheroute.planning.report import Cause, Stop, Verdict
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import UNKNOWN, Assignment, Demand, Fleet, Plan, Route

MOST_KEYS = 24
OPTIONS = st.builds(
    StableOptions,
    imbalance=st.sampled_from([0.01, 0.05, 0.1, 0.5]),
    budget=st.sampled_from([0.0, 0.02, 0.05, 0.5, 1.0]),
    hysteresis=st.sampled_from([0.0, 0.2, 0.5]),
    weigh=st.booleans(),
    repairs_only=st.sampled_from([False, False, False, True]),
)


@dataclass(frozen=True, slots=True)
class World:
    """A plan in force, and what there is now.

    Attributes:
        demand: the keys now.
        fleet: the destinations now.
        previous: the plan in force, in the numbers of ``fleet``, UNKNOWN where a destination is gone.
        gone: destinations that the plan in force had and ``fleet`` has not.
        options: choices.
    """

    demand: Demand
    fleet: Fleet
    previous: Assignment
    gone: int
    options: StableOptions

    def plan(self) -> Plan:
        return plan_stable(self.demand, self.fleet, self.previous, options=self.options)


def sets(assignment: Assignment) -> dict[int, list[int]]:
    """Return the destinations of each admitted key."""
    edges = assignment.offsets.tolist()
    members = assignment.members.tolist()
    return {
        key: members[start:end]
        for key, start, end in zip(assignment.admitted.tolist(), edges[:-1], edges[1:], strict=True)
    }


def standbys(assignment: Assignment) -> dict[int, int]:
    return dict(zip(assignment.admitted.tolist(), assignment.standby.tolist(), strict=True))


def renumbered(assignment: Assignment, number: list[int]) -> Assignment:
    """Return the assignment with destination r called ``number[r]``."""
    table = np.array([*number, UNKNOWN], dtype=np.int64)
    return Assignment(
        assignment.admitted,
        assignment.offsets,
        table[assignment.members],
        table[assignment.standby],
    )


def same(one: Assignment, other: Assignment) -> bool:
    """Tell whether two assignments are equal bit for bit, loads included where both have them."""
    names = ["admitted", "offsets", "members", "standby"]
    names += ["load"] if isinstance(one, Plan) and isinstance(other, Plan) else []
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


def uniform(size: int, warm: int, capacity: float = 2.5) -> Fleet:
    return Fleet(np.full(size, capacity), np.full(size, warm, dtype=np.int64))


def demand_of(rates: list[float], unkeyed: float = 0.0) -> Demand:
    return Demand(np.array(rates, dtype=np.float64), unkeyed)


def random_fleet(rng: np.random.Generator, size: int) -> Fleet:
    """Destinations of one or two capacities, some absent, on few nodes and zones."""
    capacities = ((2.5,), (1.0,), (1.0, 2.0), (2.5, 5.0, 7.0))[rng.integers(4)]
    return Fleet(
        capacity=rng.choice(capacities, size),
        warm_slots=rng.integers(0, 7, size),
        present=rng.random(size) < rng.choice([0.7, 1.0]),
        node=rng.integers(0, 10, size),
        zone=rng.integers(-1, 3, size),
    )


def random_demand(rng: np.random.Generator, keys: int) -> Demand:
    """Rates with ties and zeros, sometimes other costs, and now and then what a user fixed."""
    spread = rng.choice([0.1, 1.0, 5.0])
    equal = rng.choice([0.0, 1.0, 2.0, 2.5, 5.0], keys)
    rate = np.where(rng.random(keys) < 0.3, equal, rng.exponential(spread, keys))
    weight = rng.choice([1.0, 1.0, 3.0], keys if rng.random() < 0.5 else 1)
    fixed = rng.choice([0.0, 0.0, 0.2])
    return Demand(
        rate,
        unkeyed=float(rng.choice([0.0, 0.5, 9.0])),
        cost=rate * weight,
        route=np.where(rng.random(keys) < fixed, rng.integers(1, 3, keys), 0).astype(np.int8),
        count=np.where(rng.random(keys) < fixed, rng.choice([1, 2, 9], keys), 0),
    )


SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)
"""Arrays are drawn by numpy, a hundred times as fast as element by element; sizes and options shrink."""


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A plan made for other rates on another fleet, then lost and joined destinations."""
    keys, size, gone = draw(st.integers(0, MOST_KEYS)), draw(st.integers(1, 8)), draw(st.integers(0, 2))
    options, rng = draw(OPTIONS), draw(SEEDS)
    joined = rng.random(size) < rng.choice([0.0, 0.3])
    joined[0] &= gone > 0
    number = rng.permutation([*np.flatnonzero(~joined), *[UNKNOWN] * gone]).tolist()
    first = random_demand(rng, keys)
    made = plan_stable(first, random_fleet(rng, len(number)))
    return World(
        demand=first if rng.random() < 0.2 else random_demand(rng, keys),
        fleet=replace(random_fleet(rng, size), joined=joined),
        previous=renumbered(made, number),
        gone=gone,
        options=options,
    )


@settings(deadline=None)
@given(worlds())
def test_every_admitted_key_has_distinct_destinations(world: World) -> None:
    made, before = world.plan(), sets(world.previous)
    for key, members in sets(made).items():
        assert members
        assert members == sorted(set(members))
        kept = set(before.get(key, ()))
        assert all(0 <= r < world.fleet.size and (world.fleet.present[r] or r in kept) for r in members)


@settings(deadline=None)
@given(worlds())
def test_slots_are_never_exceeded_but_by_repairs(world: World) -> None:
    world = replace(world, options=replace(world.options, repairs_only=False))
    made = world.plan()
    assert made.members.size == made.report.slots_used <= made.report.slots_total == world.fleet.slots


@settings(deadline=None)
@given(worlds())
def test_keys_are_in_the_order_of_their_rates(world: World) -> None:
    made = world.plan()
    admitted = made.admitted.tolist()
    assert admitted == sorted(set(admitted), key=lambda key: (-world.demand.rate[key], key))


@settings(deadline=None)
@given(worlds())
def test_every_key_has_a_standby_outside_its_destinations_where_there_is_one(world: World) -> None:
    made = world.plan()
    present = set(np.flatnonzero(world.fleet.present).tolist())
    standby = standbys(made)
    for key, members in sets(made).items():
        outside = present - set(members)
        assert standby[key] in outside or (standby[key] == UNKNOWN and not outside)


@settings(deadline=None)
@given(worlds())
def test_what_the_user_fixed_is_kept_to(world: World) -> None:
    world = replace(world, options=replace(world.options, repairs_only=False))
    made, demand = world.plan(), world.demand
    members, present = sets(made), world.fleet.present
    full = world.fleet.slots - made.members.size <= np.count_nonzero(~present)
    assert not any(demand.route[key] == Route.COLD for key in members)
    for key, own in members.items():
        everywhere = set(np.flatnonzero(present).tolist()) <= set(own)
        short = len(own) < demand.count[key] and (everywhere or full)
        assert demand.count[key] in {0, len(own)} or short


def naive_load(made: Plan, demand: Demand, fleet: Fleet) -> NDArray[np.float64]:
    load, present = np.zeros(fleet.size), fleet.present
    tail, standby = demand.unkeyed_cost, standbys(made)
    members = sets(made)
    for key in range(demand.size):
        here = [r for r in members.get(key, ()) if present[r]]
        if here:
            load[here] += demand.cost[key] * fleet.capacity[here] / fleet.capacity[here].sum()
        elif standby.get(key, UNKNOWN) != UNKNOWN and present[standby[key]]:
            load[standby[key]] += demand.cost[key]
        else:
            tail += demand.cost[key]
    if present.any():
        load[present] += tail * fleet.capacity[present] / fleet.capacity[present].sum()
    return load


@settings(deadline=None)
@given(worlds())
def test_loads_are_the_whole_traffic(world: World) -> None:
    made, demand = world.plan(), world.demand
    assert (made.load >= 0).all()
    assert not made.load[~world.fleet.present].any()
    assert np.allclose(made.load, naive_load(made, demand, world.fleet))
    if world.fleet.present.any():
        assert np.isclose(made.load.sum(), demand.cost.sum() + demand.unkeyed_cost)
    assert np.isclose(made.report.total_rate, demand.rate.sum() + demand.unkeyed)
    assert np.isclose(made.report.admitted_rate, demand.rate[made.admitted].sum())
    assert made.report.keys_admitted == made.admitted.size


@settings(deadline=None)
@given(worlds())
def test_the_changes_are_the_difference(world: World) -> None:
    made = world.plan()
    before, after, changes = sets(world.previous), sets(made), made.report.changes
    old = {(key, r) for key, own in before.items() for r in own if r != UNKNOWN}
    new = {(key, r) for key, own in after.items() for r in own}
    key, source, target = changes.key.tolist(), changes.source.tolist(), changes.target.tolist()
    left = [(b, r) for b, r in zip(key, source, strict=True) if r != UNKNOWN]
    got = [(b, r) for b, r in zip(key, target, strict=True) if r != UNKNOWN]
    assert len(left) == len(set(left))
    assert set(left) == old - new
    assert len(got) == len(set(got))
    assert set(got) == new - old
    nowhere = {b for b, r, s in zip(key, source, target, strict=True) if r == s == UNKNOWN}
    assert nowhere <= {b for b, own in before.items() if UNKNOWN in own}
    assert {b for b, own in before.items() if UNKNOWN in own} <= set(key), "no loss goes untold"
    assert made.report.keys_moved == len({b for b, _ in old ^ new} | nowhere)
    union = world.previous.members.size + len(new - old)
    assert np.isclose(made.report.churn, 1 - len(old & new) / union if union else 0.0)


@settings(deadline=None)
@given(worlds())
def test_the_rewarm_rate_is_what_lands_on_new_destinations(world: World) -> None:
    made, demand, fleet = world.plan(), world.demand, world.fleet
    before, rewarm = sets(world.previous), 0.0
    for key, own in sets(made).items():
        whole = float(fleet.capacity[own][fleet.present[own]].sum())
        new = [r for r in own if r not in before.get(key, ())]
        rewarm += float(demand.rate[key] * fleet.capacity[new].sum()) / whole if new else 0.0
    assert np.isclose(made.report.rewarm_rate, rewarm)


@settings(deadline=None)
@given(worlds())
def test_every_change_has_its_reason(world: World) -> None:
    made, demand = world.plan(), world.demand
    before, after, changes = sets(world.previous), sets(made), made.report.changes
    columns = (changes.key, changes.cause, changes.source, changes.target)
    for key, cause, source, target in zip(*(column.tolist() for column in columns), strict=True):
        was, now = len(before.get(key, ())), len(after.get(key, ()))
        lost = UNKNOWN in before.get(key, ())
        why = (key, Cause(cause), source, target, before.get(key), after.get(key))
        if cause == Cause.LOST:
            assert lost, why
        elif cause == Cause.ADMITTED:
            assert was == 0, why
            assert source == UNKNOWN, why
        elif cause in {Cause.DROPPED, Cause.FORCED_COLD}:
            assert now == 0, why
            assert (cause == Cause.FORCED_COLD) == (demand.route[key] == Route.COLD), why
        elif cause == Cause.RAISED:
            assert now > was or lost, why
            assert source == UNKNOWN, why
        elif cause == Cause.LOWERED:
            assert now < was, why
            assert target == UNKNOWN, why
        elif cause == Cause.FIXED:
            assert demand.count[key] > 0 or demand.route[key] == Route.ADMIT, why
        else:
            assert cause in {Cause.BALANCED, Cause.SWAPPED}, why
            assert source != UNKNOWN, why
            assert target != UNKNOWN, why
    for key, own in before.items():
        places = own.count(UNKNOWN)
        told = int(np.count_nonzero((changes.key == key) & (changes.cause == Cause.LOST)))
        assert (
            not places or not after.get(key) or told >= min(places, len(after[key]) - (len(own) - places))
        ), (key, own, after.get(key))


@settings(deadline=None)
@given(worlds())
def test_rebalancing_stays_within_its_budget_and_tells_what_it_did(world: World) -> None:
    made, demand = world.plan(), world.demand
    done, changes = made.report.rebalance, made.report.changes
    total = float(demand.rate.sum()) + demand.unkeyed
    if world.options.budget < 1:
        assert done.moved_rate <= world.options.budget * total * (1 + 1e-9)
        assert changes.moved_rate(Cause.BALANCED, Cause.SWAPPED) <= world.options.budget * total * (1 + 1e-9)
    if world.options.budget == 0:
        assert changes.count(Cause.BALANCED, Cause.SWAPPED) == 0
    assert done.after <= done.before * (1 + 1e-9)
    if done.moves + done.swaps == 0:
        assert done.before == done.after
    limit = 1 + world.options.imbalance if world.fleet.present.all() else world.options.loss_limit
    if done.stop is Stop.BALANCED:
        assert done.after <= limit * (1 + 1e-6)


def settled(made: Plan) -> bool:
    """Tell whether the plan is all that was wanted."""
    report = made.report
    return (
        report.rebalance.stop not in {Stop.BUDGET, Stop.TOO_LARGE}
        and report.verdict.verdict is not Verdict.HELD
    )


@settings(deadline=None)
@given(worlds())
def test_the_same_input_changes_nothing_more(world: World) -> None:
    fleet = replace(world.fleet, joined=np.zeros(world.fleet.size, dtype=np.bool_))
    first = world.plan()
    second = plan_stable(world.demand, fleet, first, options=world.options)
    third = plan_stable(world.demand, fleet, second, options=world.options)
    restricted = world.fleet.joined.any() or (world.previous.members == UNKNOWN).any()
    if settled(first) and not restricted:
        assert same(first, second)
        assert second.report.keys_moved == 0
    if settled(second):
        assert same(second, third)
        assert third.report.keys_moved == 0


@settings(deadline=None)
@given(worlds())
def test_repairs_change_only_keys_of_destinations_that_are_gone(world: World) -> None:
    made = replace(world, options=replace(world.options, repairs_only=True)).plan()
    before, changes = sets(world.previous), made.report.changes
    for key, cause in zip(changes.key.tolist(), changes.cause.tolist(), strict=True):
        assert UNKNOWN in before[key]
        assert cause in {Cause.LOST, Cause.LOWERED, Cause.DROPPED}
    assert made.report.verdict.verdict is Verdict.NOTHING


@settings(deadline=None)
@given(worlds())
def test_the_worst_single_loss_is_that_of_a_count_key_by_key(world: World) -> None:
    made, demand, fleet = world.plan(), world.demand, world.fleet
    worst = 0.0
    for lost in np.flatnonzero(fleet.present).tolist():
        left = fleet.present & (np.arange(fleet.size) != lost)
        load = naive_load(made, demand, replace(fleet, present=left))
        if left.any() and load.sum() > 0:
            mean = load.sum() / fleet.capacity[left].sum()
            worst = max(worst, float((load[left] / fleet.capacity[left]).max() / mean))
    assert np.isclose(made.report.loss.imbalance, worst)
    assert made.report.loss.keys == np.count_nonzero(made.standby == UNKNOWN)
    former = standbys(world.previous)
    differing = [key for key, r in standbys(made).items() if former.get(key, UNKNOWN) != r]
    assert made.report.loss.changed == len(differing)
