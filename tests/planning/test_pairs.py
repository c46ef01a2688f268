"""An assignment as pairs, and the load it makes, by hand."""

import numpy as np
import pytest

from cacheroute.planning.pairs import Pairs, covered, loads, loads_without, shares
from cacheroute.planning.types import UNKNOWN, Demand
from tests.planning.builders import assignment, demand, fleet, pairs, placed


def test_pairs_are_in_order_whatever_order_they_are_given_in() -> None:
    found = Pairs.of(np.array([2, 0, 2]), np.array([5, 1, 3]), np.full(3, UNKNOWN))
    assert found.key.tolist() == [0, 2, 2]
    assert found.destination.tolist() == [1, 3, 5]


def test_a_destination_that_is_gone_comes_first_in_its_key_and_counts() -> None:
    found = Pairs.of_assignment(assignment({2: [4, UNKNOWN], 0: [1]}, {2: 3}), keys=3, size=5)
    assert placed(found) == {0: [1], 2: [UNKNOWN, 4]}
    assert found.counts.tolist() == [1, 0, 2]
    assert found.standby.tolist() == [UNKNOWN, UNKNOWN, 3]


def test_a_pair_is_found_only_as_key_and_destination_together() -> None:
    found = pairs({0: [1], 1: [0, 2]}, 3).has(np.array([0, 0, 1, 2]), np.array([1, 2, 2, 2]), 3)
    assert found.tolist() == [True, False, True, False]


def test_a_key_is_shared_in_proportion_to_capacity() -> None:
    share = shares(pairs({0: [0, 1]}, 1), np.array([6.0]), fleet(1, 2))
    assert share.tolist() == pytest.approx([2, 4])


def test_an_absent_destination_has_no_share() -> None:
    share = shares(pairs({0: [0, 1]}, 1), np.array([6.0]), fleet(1, 2, absent=[0]))
    assert share.tolist() == [0, 6]


def test_the_cold_tail_is_spread_in_proportion_to_capacity() -> None:
    load = loads(pairs({0: [0]}, 2), demand(5, 3, unkeyed=1), fleet(1, 3))
    assert load.tolist() == [5 + 1, 3]


def test_a_standby_has_the_whole_load_of_a_key_whose_destinations_are_all_absent() -> None:
    where = fleet(1, 1, 1, absent=[0])
    assert loads(pairs({0: [0], 1: [0, 1]}, 2, {0: 2, 1: 2}), demand(4, 3), where).tolist() == [0, 3, 4]
    assert loads(pairs({0: [0]}, 1), demand(4), where).tolist() == [0, 2, 2]


def test_loads_go_by_cost_and_cover_goes_by_capacity() -> None:
    held = pairs({0: [0, 1]}, 2)
    assert loads(held, Demand(np.ones(2), cost=np.array([8.0, 0.0])), fleet(2, 2)).tolist() == [4, 4]
    assert covered(held, fleet(2, 3)).tolist() == pytest.approx([5, 0])


def test_without_some_keys_there_is_the_load_of_the_others() -> None:
    held, asked = pairs({0: [0], 1: [0, 1]}, 3), demand(5, 4, 6)
    assert loads_without(np.array([1, 2]), held, asked, fleet(9, 9)).tolist() == [5, 0]
    assert loads_without(np.array([0]), held, asked, fleet(9, 9)).tolist() == [2 + 3, 2 + 3]
