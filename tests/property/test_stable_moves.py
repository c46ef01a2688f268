"""What ``Stable`` may move when destinations are lost, leave, come back and join, and how strong its habits are."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cacheroute.planning.options import AdmissionRule, StableOptions
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import UNKNOWN, Demand, Fleet
from tests.property.test_stable import SEEDS, renumbered, same, sets, standbys, uniform

SIZES = st.integers(2, 8)
KEYS = st.integers(0, 30)
AMPLE = 60
"""Warm slots of one destination that are never all used."""
EAGER = StableOptions(budget=1.0, weigh=False)
WHOLE = 705_600.0
"""840 squared: its multiples stay whole when they are shared by up to 8 destinations, and once more."""


def rates(rng: np.random.Generator, keys: int) -> Demand:
    return Demand(rng.exponential(rng.choice([0.2, 1.0, 4.0]), keys), unkeyed=float(rng.choice([0.0, 2.0])))


@settings(deadline=None)
@given(SEEDS, KEYS, SIZES)
def test_a_lost_destination_moves_only_its_own_keys(rng: np.random.Generator, keys: int, size: int) -> None:
    demand, lost = rates(rng, keys), int(rng.integers(size))
    first = plan_stable(demand, uniform(size, AMPLE))
    number = [*range(lost), UNKNOWN, *range(lost, size - 1)]
    left = renumbered(first, number)
    made = plan_stable(demand, uniform(size - 1, AMPLE), left)
    hurt = {key for key, own in sets(left).items() if UNKNOWN in own}
    assert set(made.report.changes.key.tolist()) <= hurt


@settings(deadline=None)
@given(SEEDS, KEYS, SIZES)
def test_the_keys_of_a_lost_destination_go_to_their_standbys(
    rng: np.random.Generator, keys: int, size: int
) -> None:
    demand, lost = rates(rng, keys), int(rng.integers(size))
    first = plan_stable(demand, uniform(size, AMPLE))
    left = renumbered(first, [*range(lost), UNKNOWN, *range(lost, size - 1)])
    options = StableOptions(repairs_only=True)
    made = sets(plan_stable(demand, uniform(size - 1, AMPLE), left, options=options))
    standby = standbys(left)
    for key, own in sets(left).items():
        kept = {r for r in own if r != UNKNOWN}
        heir = {standby[key]} - {UNKNOWN} if UNKNOWN in own else set()
        assert set(made[key]) == kept | heir


@settings(deadline=None)
@given(SEEDS, KEYS, SIZES)
def test_keys_in_force_move_only_to_those_that_joined(rng: np.random.Generator, keys: int, size: int) -> None:
    demand, joining = rates(rng, keys), int(rng.integers(1, size))
    first = plan_stable(demand, uniform(size - joining, AMPLE))
    joined = np.arange(size) >= size - joining
    made = plan_stable(demand, replace(uniform(size, AMPLE), joined=joined), first, options=EAGER)
    targets = made.report.changes.target
    assert joined[targets[targets != UNKNOWN]].all()


@settings(deadline=None)
@given(SEEDS, KEYS, SIZES)
def test_an_absent_destination_keeps_its_keys_and_finds_them_again(
    rng: np.random.Generator, keys: int, size: int
) -> None:
    demand, fleet = rates(rng, keys), uniform(size, AMPLE)
    first = plan_stable(demand, fleet, options=EAGER)
    away = replace(fleet, present=np.arange(size) != rng.integers(size))
    repaired = plan_stable(demand, away, first, options=StableOptions(repairs_only=True))
    assert repaired.members.tobytes() == first.members.tobytes()
    adapted = plan_stable(demand, away, first, options=EAGER)
    gone = int(np.argmin(away.present))
    assert all(gone in sets(adapted)[key] for key, own in sets(first).items() if gone in own)
    back = plan_stable(demand, fleet, repaired)
    assert back.members.tobytes() == first.members.tobytes()
    assert np.array_equal(back.load, first.load)


@settings(deadline=None)
@given(SEEDS, KEYS, SIZES, st.integers(0, 12), st.data())
def test_renaming_keys_renames_the_result(
    rng: np.random.Generator, keys: int, size: int, warm: int, data: st.DataObject
) -> None:
    fleet = uniform(size, warm, 2.0**18 * WHOLE)
    before, now = (rng.choice(2**20, keys, replace=False).astype(np.float64) * WHOLE for _ in range(2))
    order = np.array(data.draw(st.permutations(range(keys))), dtype=np.int64)
    straight = plan_stable(Demand(now), fleet, plan_stable(Demand(before), fleet))
    renamed = plan_stable(Demand(now[order]), fleet, plan_stable(Demand(before[order]), fleet))
    assert order[renamed.admitted].tolist() == straight.admitted.tolist()
    for name in ("offsets", "members", "standby", "load"):
        assert getattr(renamed, name).tobytes() == getattr(straight, name).tobytes()
    assert renamed.report.rebalance == straight.report.rebalance
    assert renamed.report.admission == straight.report.admission


@settings(deadline=None)
@given(SEEDS, st.integers(1, 20), st.integers(1, 8))
def test_on_unequal_destinations_every_key_is_covered(rng: np.random.Generator, keys: int, size: int) -> None:
    fleet = Fleet(rng.choice([1.0, 2.0], size), np.full(size, AMPLE, dtype=np.int64))
    made = plan_stable(rates(rng, keys), fleet, options=EAGER)
    for _ in range(2):
        demand = rates(rng, keys)
        made = plan_stable(demand, fleet, made, options=EAGER)
        for key, own in sets(made).items():
            assert fleet.capacity[own].sum() * (1 + 1e-9) >= demand.rate[key] or len(own) == size


@settings(deadline=None)
@given(SEEDS, SIZES)
def test_many_small_keys_use_unequal_destinations_alike(rng: np.random.Generator, size: int) -> None:
    fleet = Fleet(rng.choice([1.0, 2.0], size), np.full(size, AMPLE, dtype=np.int64))
    before, now = (rng.uniform(0.1, 1.0, 50 * size) * size / 50 for _ in range(2))
    made = plan_stable(Demand(now), fleet, plan_stable(Demand(before), fleet), options=EAGER)
    assert made.report.imbalance <= 1 + EAGER.imbalance + 1e-9
    assert (made.load / fleet.capacity).max() <= 1.1 * made.load.sum() / fleet.capacity.sum() + 1e-9


@settings(deadline=None)
@given(SEEDS, st.integers(2, 30), SIZES, st.integers(1, 3), st.sampled_from([0.0, 0.1, 0.2, 0.5]))
def test_a_newcomer_displaces_only_much_weaker_keys(
    rng: np.random.Generator, keys: int, size: int, warm: int, hysteresis: float
) -> None:
    fleet, options = uniform(size, warm), replace(EAGER, hysteresis=hysteresis)
    before, now = rng.uniform(0.1, 2.5, (2, keys))
    first = plan_stable(Demand(before), fleet, options=options)
    made = plan_stable(Demand(now), fleet, first, options=options)
    new = set(made.admitted.tolist()) - set(first.admitted.tolist())
    displaced = set(first.admitted.tolist()) - set(made.admitted.tolist())
    ratio = (1 + hysteresis) / (1 - hysteresis)
    assert all(now[key] > ratio * now[old] * (1 - 1e-9) for key in new for old in displaced)
    refused = set(range(keys)) - set(made.admitted.tolist())
    assert all(now[key] <= ratio * now[old] * (1 + 1e-9) for key in refused for old in made.admitted.tolist())


@settings(deadline=None)
@given(SEEDS, st.integers(1, 12), SIZES, st.sampled_from([0.0, 0.2, 0.5]))
def test_counts_rise_at_once_and_fall_late(
    rng: np.random.Generator, keys: int, size: int, hysteresis: float
) -> None:
    fleet, options = uniform(size, AMPLE), replace(EAGER, hysteresis=hysteresis)
    before, now = (rates(rng, keys) for _ in range(2))
    first = plan_stable(before, fleet, options=options)
    made = sets(plan_stable(now, fleet, first, options=options))
    for key, own in sets(first).items():
        rate, was, count = float(now.rate[key]), len(own), len(made[key])
        if rate > was * 2.5:
            assert count == min(size, math.ceil(rate / 2.5))
        elif was > 1 and rate < (1 - hysteresis) * (was - 1) * 2.5 * (1 - 1e-9):
            assert count < was
        else:
            assert count == was
        assert count == 1 or rate >= (1 - hysteresis) * (count - 1) * 2.5 * (1 - 1e-9)


@settings(deadline=None)
@given(SEEDS, KEYS, SIZES)
def test_a_walk_of_rates_settles_and_stays(rng: np.random.Generator, keys: int, size: int) -> None:
    fleet, demand = uniform(size, 4), rates(rng, keys)
    made = plan_stable(demand, fleet)
    for _ in range(4):
        demand = Demand(demand.rate * rng.lognormal(0, 0.3, keys))
        made = plan_stable(demand, fleet, made, options=EAGER)
        assert same(made, plan_stable(demand, fleet, made, options=EAGER))


@settings(deadline=None)
@given(SEEDS, st.integers(1, 30), st.integers(1, 6))
def test_admission_by_bytes_settles_at_once(rng: np.random.Generator, keys: int, size: int) -> None:
    tokens = np.full(size, float(rng.integers(50, 3000)))
    fleet, options = replace(uniform(size, 3), tokens=tokens), replace(EAGER, admission=AdmissionRule.BYTES)
    prefix = np.exp(rng.uniform(0, 7, keys)).round()
    made = plan_stable(Demand(rng.exponential(0.1, keys), prefix=prefix), fleet, options=options)
    demand = Demand(rng.exponential(0.1, keys), prefix=prefix)
    made = plan_stable(demand, fleet, made, options=options)
    assert (np.diff(made.offsets) * prefix[made.admitted]).sum() <= tokens.sum()
    assert same(made, plan_stable(demand, fleet, made, options=options))
