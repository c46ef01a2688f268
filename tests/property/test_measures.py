"""Measures of plans are shares, and nothing has changed between a plan and itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.planning.measures import churn, imbalance, rewarm_rate
from cacheroute.planning.paper import plan_paper
from cacheroute.planning.types import Demand, Fleet, Plan

KEYS = 20
RATES = st.lists(st.floats(0.0, 20.0, allow_subnormal=False), min_size=KEYS, max_size=KEYS)
SIZES = st.integers(1, 8)
SLOTS = st.integers(0, 6)


def plan(rates: list[float], size: int, warm: int) -> Plan:
    return plan_paper(Demand(np.array(rates)), Fleet(np.full(size, 2.5), np.full(size, warm, dtype=np.int64)))


@given(RATES, SIZES, SLOTS)
def test_nothing_changes_between_a_plan_and_itself(rates: list[float], size: int, warm: int) -> None:
    made = plan(rates, size, warm)
    assert churn(made, made, size) == 0
    assert rewarm_rate(made, made, np.array(rates), size) == 0


@given(RATES, SIZES, SLOTS)
def test_all_changes_from_an_empty_plan(rates: list[float], size: int, warm: int) -> None:
    nothing, made = plan(rates, size, 0), plan(rates, size, warm)
    assert churn(nothing, made, size) == (1.0 if made.members.size else 0.0)
    assert np.isclose(rewarm_rate(nothing, made, np.array(rates), size), made.report.coverage)


@given(RATES, RATES, SIZES, SLOTS)
def test_churn_is_a_symmetric_share(before: list[float], after: list[float], size: int, warm: int) -> None:
    old, new = plan(before, size, warm), plan(after, size, warm)
    assert churn(old, new, size) == churn(new, old, size)
    assert 0 <= churn(old, new, size) <= 1


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=9), st.sampled_from([0.5, 1.0, 3.0]))
def test_imbalance_is_between_level_and_all_on_one(load: list[float], capacity: float) -> None:
    measured = imbalance(np.array(load), np.full(len(load), capacity))
    assert measured == 0 if sum(load) == 0 else 1 - 1e-9 <= measured <= len(load) + 1e-9
