"""Admission with hysteresis and by bytes, by hand."""

import numpy as np
import pytest

from cacheroute.planning.hysteresis import admit_by_value
from cacheroute.planning.options import AdmissionRule, StableOptions
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import Demand, Fleet, Plan

BYTES = StableOptions(admission=AdmissionRule.BYTES, weigh=False)


def admitted(value: list[float], incumbent: list[bool], budget: float, weight: list[int]) -> list[int]:
    found = admit_by_value(
        np.array(value),
        np.array(weight, dtype=np.int64),
        budget,
        np.array(incumbent),
        np.zeros(len(value), dtype=np.int8),
        hysteresis=0.2,
        adapt=True,
    )
    return np.flatnonzero(found.admitted).tolist()


@pytest.mark.parametrize(("newcomer", "winner"), [(1.49, 0), (1.51, 1)])
def test_a_newcomer_needs_one_and_a_half_times_the_rate(newcomer: float, winner: int) -> None:
    assert admitted([1.0, newcomer], [True, False], 1, [1, 1]) == [winner]


def test_a_slot_that_nobody_has_goes_to_the_best_newcomer() -> None:
    assert admitted([1.0, 0.1, 0.2, 0.0], [True, False, False, False], 2, [1, 1, 1, 1]) == [0, 2]


def test_a_key_that_does_not_fit_is_passed_over() -> None:
    assert admitted([3.0, 2.0, 1.0], [False] * 3, 3, [2, 2, 1]) == [0, 2]


def plan(demand: Demand, tokens: float, previous: Plan | None = None) -> Plan:
    fleet = Fleet(np.full(4, 2.5), np.full(4, 2, dtype=np.int64), tokens=np.full(4, tokens))
    return plan_stable(demand, fleet, previous, options=BYTES)


@pytest.mark.parametrize("seed", range(20))
def test_prefixes_fit_the_tokens_of_the_fleet(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prefix = rng.integers(1, 4000, 60).astype(np.float64)
    made: Plan | None = None
    for _ in range(3):
        made = plan(Demand(rng.exponential(1.0, 60), prefix=prefix), 5000.0, made)
        assert (np.diff(made.offsets) * prefix[made.admitted]).sum() <= 20_000
        assert made.admitted.size


def test_one_key_worth_more_than_all_that_fit_before_it_is_taken() -> None:
    rate, prefix = np.array([0.012, 0.010, 0.010]), np.array([1.0, 400.0, 1.0])
    made = plan(Demand(rate, prefix=prefix), 100.0)
    assert made.admitted.tolist() == [1]
    assert plan(Demand(rate, prefix=prefix), 100.0, made).report.keys_moved == 0


def test_a_user_overrules_the_bytes() -> None:
    route = np.array([1, 0, 2], dtype=np.int8)
    made = plan(Demand(np.array([1.0, 0.9, 0.1]), prefix=np.array([10.0, 10.0, 380.0]), route=route), 100.0)
    assert made.admitted.tolist() == [1, 2]
