"""The invariants of Algorithm 1 for any input."""

import math
from random import Random

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cacheroute.planning.measures import churn, imbalance, rewarm_rate
from cacheroute.planning.paper import PaperOptions, cold_load, plan_paper
from cacheroute.planning.types import Demand, Fleet, Plan
from tests.property.reference import reference_plan

RATES = st.lists(
    st.one_of(
        st.floats(0.0, 20.0, allow_nan=False, allow_subnormal=False),
        st.sampled_from([0.0, 1.0, 1.0, 2.0, 2.5, 5.0]),
    ),
    max_size=40,
)
SIZES = st.integers(1, 8)
SLOTS = st.integers(0, 12)
CAPACITIES = st.sampled_from([0.25, 1.0, 2.5, 7.0])


def fleet(size: int, warm: int, capacity: float = 2.5) -> Fleet:
    return Fleet(np.full(size, capacity), np.full(size, warm, dtype=np.int64))


def plan(rates: list[float], where: Fleet) -> Plan:
    return plan_paper(Demand(np.array(rates, dtype=np.float64)), where, None)


def table(made: Plan) -> dict[int, list[int]]:
    return {
        int(key): made.members[made.offsets[i] : made.offsets[i + 1]].tolist()
        for i, key in enumerate(made.admitted.tolist())
    }


@given(RATES, SIZES, SLOTS, CAPACITIES)
def test_it_is_the_algorithm_of_the_paper(rates: list[float], size: int, warm: int, capacity: float) -> None:
    made = plan(rates, fleet(size, warm, capacity))
    array = np.array(rates, dtype=np.float64)
    cold = cold_load(Demand(array), array[made.admitted], size)
    expected, load = reference_plan(rates, size, capacity, size * warm, cold)
    assert table(made) == expected
    assert np.allclose(made.load, load)


@given(RATES, SIZES, SLOTS, CAPACITIES)
def test_every_admitted_key_has_its_count_of_distinct_destinations(
    rates: list[float], size: int, warm: int, capacity: float
) -> None:
    made = plan(rates, fleet(size, warm, capacity))
    for key, members in table(made).items():
        assert len(set(members)) == len(members) == min(size, max(1, math.ceil(rates[key] / capacity)))
        assert set(members) <= set(range(size))
    assert made.report.slots_used == made.members.size <= size * warm


@given(RATES, SIZES, SLOTS)
def test_admission_is_by_rate(rates: list[float], size: int, warm: int) -> None:
    made = plan(rates, fleet(size, warm))
    admitted = made.admitted.tolist()
    assert admitted == sorted(admitted, key=lambda key: (-rates[key], key))
    left_out = [key for key in range(len(rates)) if key not in set(admitted)]
    for key in left_out:
        above = sum(
            len(members)
            for other, members in table(made).items()
            if (-rates[other], other) < (-rates[key], key)
        )
        assert above + min(size, max(1, math.ceil(rates[key] / 2.5))) > size * warm


@given(RATES, SIZES, SLOTS, st.floats(0.0, 9.0))
def test_loads_are_the_whole_traffic(rates: list[float], size: int, warm: int, unkeyed: float) -> None:
    made = plan_paper(Demand(np.array(rates, dtype=np.float64), unkeyed), fleet(size, warm), None)
    assert np.isclose(made.load.sum(), sum(rates) + unkeyed)
    assert (made.load >= 0).all()


@given(
    st.lists(st.floats(0.0, 20.0), max_size=30, unique=True), SIZES, SLOTS, st.randoms(use_true_random=False)
)
def test_the_order_of_keys_matters_only_for_ties(
    rates: list[float], size: int, warm: int, random: Random
) -> None:
    order = list(range(len(rates)))
    random.shuffle(order)
    straight = table(plan(rates, fleet(size, warm)))
    shuffled = table(plan([rates[i] for i in order], fleet(size, warm)))
    assert {order[key] for key in shuffled} == set(straight)


@given(RATES, SIZES, SLOTS, st.integers(-6, 6))
def test_scaling_rates_and_capacity_together_changes_nothing(
    rates: list[float], size: int, warm: int, power: int
) -> None:
    scale = 2.0**power
    assert table(plan([rate * scale for rate in rates], fleet(size, warm, 2.5 * scale))) == table(
        plan(rates, fleet(size, warm, 2.5))
    )


@given(RATES, SIZES, SLOTS)
def test_the_same_input_gives_the_same_bits(rates: list[float], size: int, warm: int) -> None:
    first, second = plan(rates, fleet(size, warm)), plan(rates, fleet(size, warm))
    for name in ("admitted", "offsets", "members", "standby", "load"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@given(RATES, SIZES, SLOTS)
@example([3.0, 3.0], 2, 4)
def test_a_standby_is_outside_the_assignment(rates: list[float], size: int, warm: int) -> None:
    made = plan(rates, fleet(size, warm))
    for standby, members in zip(made.standby.tolist(), table(made).values(), strict=True):
        assert (standby == -1) == (len(members) == size)
        assert standby not in members


@given(RATES, SIZES, SLOTS)
def test_stopping_at_the_first_admits_a_prefix(rates: list[float], size: int, warm: int) -> None:
    demand, where = Demand(np.array(rates, dtype=np.float64)), fleet(size, warm)
    strict = plan_paper(demand, where, None, PaperOptions(stop_at_first=True))
    lenient = plan_paper(demand, where, None)
    assert strict.report.keys_skipped == 0
    assert strict.admitted.tolist() == lenient.admitted.tolist()[: strict.admitted.size]


@given(RATES, st.lists(st.sampled_from([1.0, 2.0, 4.0]), min_size=2, max_size=6), SLOTS)
def test_unequal_destinations_are_all_live(rates: list[float], capacities: list[float], warm: int) -> None:
    where = Fleet(np.array(capacities), np.full(len(capacities), warm, dtype=np.int64))
    made = plan(rates, where)
    assert np.isclose(made.load.sum(), sum(rates))
    assert all(len(set(members)) == len(members) for members in table(made).values())


@given(RATES, SIZES, SLOTS)
def test_measures_of_a_plan_against_itself_and_nothing(rates: list[float], size: int, warm: int) -> None:
    made = plan(rates, fleet(size, warm))
    nothing = plan(rates, fleet(size, 0))
    array = np.array(rates, dtype=np.float64)
    assert churn(made, made, size) == 0
    assert rewarm_rate(made, made, array, size) == 0
    assert churn(nothing, made, size) == (1.0 if made.members.size else 0.0)
    assert rewarm_rate(nothing, made, array, size) <= 1 + 1e-9
    assert imbalance(made.load, np.full(size, 2.5)) in (0.0, made.report.imbalance)
