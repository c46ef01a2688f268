"""The diagnosis: hits are shares, counted as a reader would count them."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cacheroute.planning.regime import Regime, Worth, diagnose, observed_hits, trailing_counts

REQUESTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=40).map(sorted)


@settings(deadline=None)
@given(REQUESTS, st.sampled_from([0.0, 1.0, 3.0, 100.0]))
def test_trailing_counts_are_those_of_a_loop(requests: list[tuple[int, int]], window: float) -> None:
    time = np.array([at for at, _ in requests], dtype=np.float64)
    key = np.array([name for _, name in requests], dtype=np.int64)
    expected = [
        sum(other == name and at - before <= window for before, other in requests[:i])
        for i, (at, name) in enumerate(requests)
    ]
    assert trailing_counts(time, key, window).tolist() == expected


def test_observed_hits_weigh_tokens() -> None:
    counts, tokens, spread = np.array([0, 1, 2]), np.array([5.0, 1.0, 4.0]), np.array([1, 1, 2])
    assert observed_hits(counts, tokens, spread) == pytest.approx((1.0 + 4.0 * 0.75) / 10)
    assert observed_hits(counts[:0], tokens[:0], spread[:0]) == 0


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20), st.integers(1, 30), st.floats(0.0, 300.0))
@example([5e-324], 2, 1.0)
def test_hits_are_shares_and_more_slots_never_lower_them(rates: list[float], size: int, slots: float) -> None:
    rate = np.array(rates)
    keys, count = np.arange(rate.size), np.ones(rate.size, dtype=np.int64)
    few, many = (diagnose(rate, keys, count, (size, number), 1.0) for number in (slots, 2 * slots))
    for found in (few, many):
        assert 0 <= found.flat_hit <= 1 + 1e-9
        assert 0 <= found.planned_hit <= 1 + 1e-9
        assert math.isfinite(found.multiplier)
    assert many.flat_hit >= few.flat_hit - 1e-6
    assert many.planned_hit >= few.planned_hit - 1e-6


def test_imbalance_eats_the_gain() -> None:
    rate, keys, count = np.full(100, 0.01), np.arange(100), np.ones(100, dtype=np.int64)
    assert diagnose(rate, keys, count, (10, 10.0), 1.0).worth is Worth.WORTH_IT
    assert diagnose(rate, keys, count, (10, 10.0), 1e12).worth is Worth.IMBALANCED
    assert diagnose(np.zeros(100), keys, count, (10, 10.0), 1.0) == Regime()


def test_hits_of_extreme_rates_are_numbers() -> None:
    found = Regime(flat_window=1e12, planned_window=0.0)
    rate, spread = np.array([0.0, 5e-324, 1e307]), np.ones(3, dtype=np.int64)
    for planned in (True, False):
        hit = found.hit(rate, spread, planned=np.full(3, planned))
        assert ((hit >= 0) & (hit <= 1)).all()


def test_where_every_prefix_is_found_no_fabulous_gain_is_promised() -> None:
    rate = np.full(100, 1.0)
    found = diagnose(rate, np.arange(100), np.ones(100, dtype=np.int64), (30, 4.0), 1.0)
    assert found.planned_hit > 0.99
    assert 1.0 < found.multiplier <= 100.0
