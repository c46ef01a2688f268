"""Placement, cold traffic and standbys, by hand."""

import numpy as np

from cacheroute.planning.placement import cold_load, place, standbys
from cacheroute.planning.types import Demand, Fleet

NO_KEYS = np.empty(0, dtype=np.int64)


def fleet(*capacity: float) -> Fleet:
    return Fleet(np.array(capacity), np.ones(len(capacity), dtype=np.int64))


def test_the_cold_load_does_not_depend_on_the_order_of_keys_to_the_last_bit() -> None:
    one, other = Demand(np.array([0.1, 0.2, 0.3])), Demand(np.array([0.3, 0.2, 0.1]))
    assert one.rate.sum() != other.rate.sum()
    assert cold_load(one, NO_KEYS, fleet(1.0)) == cold_load(other, NO_KEYS, fleet(1.0))


def test_admitted_keys_are_not_cold() -> None:
    assert cold_load(Demand(np.array([4.0, 2.0])), np.array([0]), fleet(1.0, 1.0)).tolist() == [1, 1]


def test_what_is_there_already_counts_by_capacity() -> None:
    members, load = place(np.array([1.0]), np.array([1]), np.array([2.0, 2.0]), fleet(1.0, 4.0))
    assert members.tolist() == [1]
    assert load.tolist() == [2, 3]


def test_replicas_share_the_rate_on_the_least_loaded() -> None:
    members, load = place(np.array([4.0]), np.array([2]), np.array([1.0, 9.0, 0.0]), fleet(3.0, 3.0, 3.0))
    assert members.tolist() == [0, 2]
    assert load.tolist() == [3, 9, 2]


def test_standbys_of_one_destination_spread() -> None:
    chosen = standbys(
        np.ones(4), np.arange(5), np.zeros(4, dtype=np.int64), np.zeros(3), fleet(1.0, 1.0, 1.0)
    )
    assert chosen.tolist() == [1, 2, 1, 2]


def test_a_larger_destination_stands_by_for_more() -> None:
    chosen = standbys(
        np.ones(3), np.arange(4), np.zeros(3, dtype=np.int64), np.zeros(3), fleet(1.0, 1.0, 4.0)
    )
    assert chosen.tolist() == [1, 2, 2]


def test_without_another_destination_there_is_no_standby() -> None:
    chosen = standbys(np.ones(1), np.array([0, 2]), np.array([0, 1]), np.zeros(2), fleet(1.0, 1.0))
    assert chosen.tolist() == [-1]
