"""Admission, by hand."""

import numpy as np

from cacheroute.planning.admission import admit, counts
from cacheroute.planning.types import Fleet


def fleet(size: int, *slots: int) -> Fleet:
    return Fleet(np.ones(size), np.array([*slots, *[0] * (size - len(slots))], dtype=np.int64))


def test_the_count_covers_the_rate_and_stays_within_the_fleet() -> None:
    assert counts(np.array([0.0, 0.5, 1.0, 1.1, 3.0, 99.0]), fleet(3)).tolist() == [1, 1, 1, 2, 3, 3]


def test_the_smallest_capacity_decides_the_count() -> None:
    assert counts(np.array([4.0]), Fleet(np.array([4.0, 2.0]), np.ones(2, dtype=np.int64))).tolist() == [2]


def test_a_key_that_does_not_fit_is_skipped_and_the_scan_goes_on() -> None:
    admitted, count, skipped = admit(np.array([4.0, 3.0, 2.0, 1.0, 1.0]), fleet(5, 5))
    assert admitted.tolist() == [0, 3]
    assert count.tolist() == [4, 1]
    assert skipped == 2


def test_or_the_scan_stops_there() -> None:
    admitted, _, skipped = admit(np.array([4.0, 3.0, 2.0, 1.0, 1.0]), fleet(5, 5), stop_at_first=True)
    assert admitted.tolist() == [0]
    assert skipped == 0


def test_keys_refused_for_slots_that_nobody_could_use_are_skipped_too() -> None:
    admitted, _, skipped = admit(np.array([4.0, 3.0, 2.0]), fleet(5, 5))
    assert admitted.tolist() == [0]
    assert skipped == 2


def test_the_scan_reaches_beyond_the_slots_where_the_hottest_keys_do_not_fit() -> None:
    admitted, _, skipped = admit(np.array([8.0] * 10 + [1.0] * 5), fleet(8, 7))
    assert admitted.tolist() == [10, 11, 12, 13, 14]
    assert skipped == 10


def test_equal_rates_at_the_edge_are_cut_by_index() -> None:
    assert admit(np.ones(100), fleet(1, 7))[0].tolist() == list(range(7))
