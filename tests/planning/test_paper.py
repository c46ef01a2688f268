"""Cases that a reader can follow by hand, and inputs that are refused."""

import numpy as np
import pytest

from cacheroute.planning.errors import PlanningInputError
from cacheroute.planning.paper import admit, plan_paper
from cacheroute.planning.types import Demand, Fleet


def fleet(size: int, warm: int, capacity: float = 1.0) -> Fleet:
    return Fleet(np.full(size, capacity), np.full(size, warm, dtype=np.int64))


def test_longest_processing_time_by_hand() -> None:
    made = plan_paper(Demand(np.array([0.9, 0.8, 0.5, 0.4])), fleet(2, 2), None)
    assert made.members.tolist() == [0, 1, 1, 0]
    assert np.allclose(made.load, [1.3, 1.3])


def test_a_key_that_does_not_fit_is_skipped_and_the_scan_goes_on() -> None:
    admitted, count, skipped = admit(np.array([4.0, 3.0, 2.0, 1.0, 1.0]), fleet(5, 1), slots=5)
    assert admitted.tolist() == [0, 3]
    assert count.tolist() == [4, 1]
    assert skipped == 2


def test_the_scan_reaches_beyond_the_slots_where_the_hottest_keys_do_not_fit() -> None:
    rate = np.array([8.0] * 10 + [1.0] * 5)
    admitted, _, skipped = admit(rate, fleet(8, 1), slots=7)
    assert admitted.tolist() == [10, 11, 12, 13, 14]
    assert skipped == 10


def test_equal_rates_at_the_edge_are_cut_by_index() -> None:
    admitted, _, _ = admit(np.ones(100), fleet(1, 7), slots=7)
    assert admitted.tolist() == list(range(7))


def test_a_key_hotter_than_the_fleet_takes_all_of_it_and_is_reported() -> None:
    made = plan_paper(Demand(np.array([9.0, 0.1])), fleet(3, 4), None)
    assert made.members[:3].tolist() == [0, 1, 2]
    assert made.standby[0] == -1
    assert made.report.overloaded.tolist() == [0]


def test_the_smallest_capacity_counts_and_the_largest_carries_more() -> None:
    where = Fleet(np.array([1.0, 2.0]), np.array([8, 8], dtype=np.int64))
    made = plan_paper(Demand(np.full(30, 0.1)), where, None)
    assert np.allclose(made.load / where.capacity, 1.0, atol=0.1)


@pytest.mark.parametrize(
    ("rate", "complaint"),
    [([1.0, float("nan")], r"rate\[1\]"), ([-1.0], r"rate\[0\]"), ([float("inf")], "finite")],
)
def test_rates_that_cannot_be_are_refused(rate: list[float], complaint: str) -> None:
    with pytest.raises(PlanningInputError, match=complaint):
        Demand(np.array(rate))


@pytest.mark.parametrize(
    ("capacity", "slots", "complaint"),
    [
        ([], [], "at least one"),
        ([0.0], [1], "capacity"),
        ([1.0], [-1], "warm_slots"),
        ([1.0, 2.0], [1], "2 capac"),
    ],
)
def test_fleets_that_cannot_be_are_refused(capacity: list[float], slots: list[int], complaint: str) -> None:
    with pytest.raises(PlanningInputError, match=complaint):
        Fleet(np.array(capacity), np.array(slots, dtype=np.int64))


def test_an_unkeyed_rate_that_cannot_be_is_refused() -> None:
    with pytest.raises(PlanningInputError, match="unkeyed"):
        Demand(np.array([1.0]), unkeyed=-1.0)
