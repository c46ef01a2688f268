import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.prom.arms import quantile


@pytest.mark.parametrize(
    ("buckets", "share", "expected"),
    [
        ({10: 0, 20: 10, math.inf: 10}, 0.5, 15),
        ({10: 4, 20: 10, math.inf: 10}, 0.2, 5),
        ({10: 4, 20: 4, 30: 8, math.inf: 8}, 0.5, 10),
        ({10: 1, math.inf: 10}, 0.99, 10),
        ({10: 0, math.inf: 0}, 0.5, None),
        ({}, 0.5, None),
    ],
)
def test_quantiles_are_those_of_promql(
    buckets: dict[float, float], share: float, expected: float | None
) -> None:
    assert quantile(buckets, share) == expected


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.floats(0, 1))
def test_a_quantile_is_within_the_buckets(counts: list[int], share: float) -> None:
    total = 0
    buckets: dict[float, float] = {}
    for index, count in enumerate(counts):
        total += count
        buckets[10.0 * (index + 1)] = total
    buckets[math.inf] = total
    found = quantile(buckets, share)
    assert (found is None) == (total == 0)
    assert found is None or 0 <= found <= 10 * len(counts)
