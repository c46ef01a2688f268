"""Phase 4: where keys go that were cold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cacheroute.planning.newcomers import place_newcomers
from cacheroute.planning.types import Demand, Fleet
from tests.planning.builders import admission, demand, fleet, pairs, placed


def made(
    places: Mapping[int, Sequence[int]], wanted: Sequence[int], asked: Demand, where: Fleet
) -> dict[int, list[int]]:
    held = pairs(places, asked.size)
    return placed(place_newcomers(held, admission(asked.size), np.array(wanted), asked, where))


def test_the_largest_first_each_to_the_least_loaded() -> None:
    assert made({}, [1, 1, 1], demand(2, 3, 2), fleet(9, 9)) == {0: [1], 1: [0], 2: [1]}


def test_keys_in_force_stay_and_their_load_counts() -> None:
    assert made({0: [0]}, [1, 1, 1], demand(4, 3, 2), fleet(9, 9)) == {0: [0], 1: [1], 2: [1]}


def test_a_newcomer_is_no_longer_in_the_cold_tail() -> None:
    held, asked = pairs({}, 2), demand(6, 4)
    found = place_newcomers(held, admission(2, but=[1]), np.array([1, 1]), asked, fleet(9, 9, absent=[0]))
    assert placed(found) == {0: [1]}


def test_least_loaded_is_by_capacity() -> None:
    assert made({0: [0], 1: [1]}, [1, 1, 1], demand(2, 3, 1), fleet(2, 4))[2] == [1]


def test_destinations_are_added_until_they_cover_the_rate() -> None:
    assert made({}, [3], demand(5), fleet(2, 2, 2)) == {0: [0, 1, 2]}
    assert made({}, [3], demand(4), fleet(2, 2, 2)) == {0: [0, 1]}
    assert made({0: [0]}, [1, 3], demand(1, 5), fleet(2, 9, 9))[1] == [1]


def test_a_fixed_count_is_given_whatever_it_covers() -> None:
    fixed = replace(demand(1), count=np.array([2]))
    assert made({}, [2], fixed, fleet(9, 9, 9)) == {0: [0, 1]}


def test_the_order_is_that_of_cost() -> None:
    tokens = Demand(np.array([3.0, 2.0]), cost=np.array([10.0, 90.0]))
    assert made({}, [1, 1], tokens, fleet(9, 9)) == {0: [1], 1: [0]}


def test_nothing_new_is_nothing_done() -> None:
    assert made({0: [1]}, [1], demand(1), fleet(9, 9)) == {0: [1]}
