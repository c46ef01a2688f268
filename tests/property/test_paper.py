"""The invariants of Algorithm 1 for any input."""

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cacheroute.planning.paper import PaperOptions, plan_paper
from cacheroute.planning.types import Demand, Fleet, Plan
from tests.property.reference import reference_plan

ANY_RATE = st.one_of(
    st.floats(0.0, 20.0, allow_subnormal=False), st.sampled_from([0.0, 1.0, 1.0, 2.0, 2.5, 5.0])
)
RATES = st.lists(ANY_RATE, max_size=40)
EXACT_RATES = st.lists(
    st.one_of(st.integers(0, 1280), st.sampled_from([0, 64, 64, 160])).map(lambda i: i / 64), max_size=40
)
"""Multiples of 1/64, whose sums are exact in any order: ties are real and results must be identical."""
SIZES = st.integers(1, 8)
SLOTS = st.integers(0, 12)
CAPACITIES = st.sampled_from([0.25, 1.0, 2.5, 7.0])


def fleet(size: int, warm: int, capacity: float = 2.5) -> Fleet:
    return Fleet(np.full(size, capacity), np.full(size, warm, dtype=np.int64))


def plan(rates: list[float], where: Fleet) -> Plan:
    return plan_paper(Demand(np.array(rates, dtype=np.float64)), where)


def destinations(made: Plan) -> list[list[int]]:
    return (
        [part.tolist() for part in np.split(made.members, made.offsets[1:-1])] if made.admitted.size else []
    )


def count(rate: float, size: int, capacity: float) -> int:
    return min(size, max(1, math.ceil(rate / capacity)))


@given(EXACT_RATES, SIZES, SLOTS, CAPACITIES)
@example([], 1, 0, 1.0)
@example([0.0, 0.0, 0.0], 2, 1, 1.0)
@example([20.0, 20.0, 0.5], 1, 2, 1.0)
@example([9.0] * 10 + [1.0] * 5, 8, 1, 1.0)
def test_it_is_the_algorithm_of_the_paper(rates: list[float], size: int, warm: int, capacity: float) -> None:
    made = plan(rates, fleet(size, warm, capacity))
    expected = reference_plan(rates, size, capacity, size * warm)
    assert made.admitted.tolist() == expected.admitted
    assert destinations(made) == expected.table
    assert made.standby.tolist() == expected.standby
    assert made.load.tolist() == expected.load


@given(RATES, SIZES, SLOTS, CAPACITIES)
def test_every_admitted_key_has_its_count_of_distinct_destinations(
    rates: list[float], size: int, warm: int, capacity: float
) -> None:
    made = plan(rates, fleet(size, warm, capacity))
    for key, members in zip(made.admitted.tolist(), destinations(made), strict=True):
        assert len(set(members)) == len(members) == count(rates[key], size, capacity)
        assert members == sorted(members)
        assert set(members) <= set(range(size))


@given(RATES, SIZES, SLOTS)
def test_the_slots_are_never_exceeded(rates: list[float], size: int, warm: int) -> None:
    made = plan(rates, fleet(size, warm))
    assert made.report.slots_used == made.members.size <= made.report.slots_total == size * warm


@given(RATES, SIZES, SLOTS)
def test_a_key_is_left_out_only_where_those_before_it_left_no_room(
    rates: list[float], size: int, warm: int
) -> None:
    made = plan(rates, fleet(size, warm))
    admitted, used, skipped = set(made.admitted.tolist()), 0, 0
    for key in sorted(range(len(rates)), key=lambda key: (-rates[key], key)):
        room = size * warm - used
        assert (key in admitted) == (count(rates[key], size, 2.5) <= room)
        used += count(rates[key], size, 2.5) if key in admitted else 0
        skipped += key not in admitted and room > 0
    assert made.report.keys_skipped == skipped


@given(RATES, SIZES, SLOTS, st.floats(0.0, 9.0))
def test_loads_are_the_whole_traffic(rates: list[float], size: int, warm: int, unkeyed: float) -> None:
    made = plan_paper(Demand(np.array(rates, dtype=np.float64), unkeyed), fleet(size, warm))
    assert np.isclose(made.load.sum(), sum(rates) + unkeyed)
    assert np.isclose(made.report.total_rate, sum(rates) + unkeyed)
    assert (made.load >= 0).all()
    assert 0 <= made.report.coverage <= 1


@given(st.lists(ANY_RATE, max_size=30, unique=True), SIZES, SLOTS, st.data())
def test_the_order_of_the_input_changes_nothing(
    rates: list[float], size: int, warm: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(rates))))
    straight, shuffled = plan(rates, fleet(size, warm)), plan([rates[i] for i in order], fleet(size, warm))
    assert [order[key] for key in shuffled.admitted] == straight.admitted.tolist()
    for name in ("offsets", "members", "standby", "load"):
        assert getattr(shuffled, name).tobytes() == getattr(straight, name).tobytes()


@given(RATES, SIZES, SLOTS, st.integers(-6, 6))
def test_scaling_rates_and_capacity_by_a_power_of_two_changes_nothing(
    rates: list[float], size: int, warm: int, power: int
) -> None:
    scale = 2.0**power
    scaled = plan([rate * scale for rate in rates], fleet(size, warm, 2.5 * scale))
    straight = plan(rates, fleet(size, warm, 2.5))
    for name in ("admitted", "offsets", "members", "standby"):
        assert getattr(scaled, name).tobytes() == getattr(straight, name).tobytes()
    assert (scaled.load == straight.load * scale).all()


@given(RATES, SIZES, SLOTS)
def test_the_plan_in_force_is_not_looked_at(rates: list[float], size: int, warm: int) -> None:
    demand, where = Demand(np.array(rates, dtype=np.float64)), fleet(size, warm)
    first = plan_paper(demand, where)
    second = plan_paper(demand, where, plan_paper(Demand(demand.rate[::-1].copy()), where))
    for name in ("admitted", "offsets", "members", "standby", "load"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@given(RATES, SIZES, SLOTS)
def test_a_standby_is_outside_the_assignment(rates: list[float], size: int, warm: int) -> None:
    made = plan(rates, fleet(size, warm))
    for standby, members in zip(made.standby.tolist(), destinations(made), strict=True):
        assert (standby == -1) == (len(members) == size)
        assert standby not in members


@given(RATES, SIZES, SLOTS)
def test_stopping_at_the_first_admits_a_prefix(rates: list[float], size: int, warm: int) -> None:
    demand, where = Demand(np.array(rates, dtype=np.float64)), fleet(size, warm)
    strict = plan_paper(demand, where, options=PaperOptions(stop_at_first=True))
    lenient = plan_paper(demand, where)
    order = sorted(range(len(rates)), key=lambda key: (-rates[key], key))
    assert strict.report.keys_skipped == 0
    assert strict.admitted.tolist() == order[: strict.admitted.size]
    assert strict.admitted.size <= lenient.admitted.size
    if lenient.report.keys_skipped == 0:
        assert strict.admitted.size == lenient.admitted.size


@given(RATES, st.lists(st.sampled_from([1.0, 2.0, 4.0]), min_size=1, max_size=6), SLOTS)
def test_on_unequal_destinations_every_key_finds_room(
    rates: list[float], capacities: list[float], warm: int
) -> None:
    where = Fleet(np.array(capacities), np.full(len(capacities), warm, dtype=np.int64))
    made = plan(rates, where)
    assert np.isclose(made.load.sum(), sum(rates))
    for key, members in zip(made.admitted.tolist(), destinations(made), strict=True):
        assert len(set(members)) == len(members)
        assert sum(capacities[r] for r in members) >= min(rates[key], sum(capacities))
