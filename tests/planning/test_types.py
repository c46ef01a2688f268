"""Arrays that cannot be planned with are refused by name."""

import numpy as np
import pytest

from cacheroute.planning.errors import PlanningInputError
from cacheroute.planning.types import Demand, Fleet


@pytest.mark.parametrize(
    ("rate", "complaint"),
    [
        ([1.0, float("nan")], r"rate\[1\].*1 of 2"),
        ([-1.0], r"rate\[0\]"),
        ([float("inf")], "finite"),
        ([1.5e308, 1.5e308], "add up"),
        ([[1.0]], "one dimension"),
    ],
)
def test_rates_that_cannot_be(rate: list[float], complaint: str) -> None:
    with pytest.raises(PlanningInputError, match=complaint):
        Demand(np.array(rate))


@pytest.mark.parametrize("unkeyed", [-1.0, float("nan"), float("inf")])
def test_an_unkeyed_rate_that_cannot_be(unkeyed: float) -> None:
    with pytest.raises(PlanningInputError, match="unkeyed"):
        Demand(np.array([1.0]), unkeyed=unkeyed)


@pytest.mark.parametrize(
    ("capacity", "slots", "complaint"),
    [
        ([], [], "at least one"),
        ([0.0], [1], r"capacity\[0\]"),
        ([1.0, float("nan")], [1, 1], r"capacity\[1\]"),
        ([float("inf")], [1], "capacity"),
        ([1.0], [-1], r"warm_slots\[0\]"),
        ([1.0, 2.0], [1], "2 capac"),
        ([[1.0]], [[1]], "one dimension"),
    ],
)
def test_fleets_that_cannot_be(capacity: list[float], slots: list[int], complaint: str) -> None:
    with pytest.raises(PlanningInputError, match=complaint):
        Fleet(np.array(capacity), np.array(slots, dtype=np.int64))


def test_slots_add_up_beyond_64_bits() -> None:
    assert Fleet(np.ones(4), np.full(4, 2**62, dtype=np.int64)).slots == 2**64
