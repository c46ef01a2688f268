"""Phase 3: who is not admitted leaves, and keys in force get more or fewer destinations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cacheroute.planning.resize import resize
from cacheroute.planning.types import Demand, Fleet
from tests.planning.builders import admission, demand, fleet, pairs, placed


def resized(
    places: Mapping[int, Sequence[int]], wanted: Sequence[int], asked: Demand, where: Fleet
) -> dict[int, list[int]]:
    held = pairs(places, asked.size)
    return placed(resize(held, admission(asked.size), np.array(wanted), asked, where))


def test_a_key_that_is_not_admitted_leaves() -> None:
    made = resize(
        pairs({0: [0], 1: [1]}, 2), admission(2, but=[0]), np.ones(2, int), demand(1, 1), fleet(9, 9)
    )
    assert placed(made) == {1: [1]}


def test_one_more_is_the_least_utilised_that_the_key_has_not() -> None:
    # utilised: 0 by 3/2 (its own), 1 by 1/2, 2 by 1/4
    assert resized({0: [0], 1: [1], 2: [2]}, [2, 1, 1], demand(3, 1, 1), fleet(2, 2, 4))[0] == [0, 2]


def test_one_less_is_the_most_utilised_of_its_own() -> None:
    assert resized({0: [0, 1], 1: [1]}, [1, 1], demand(1, 1), fleet(2, 2))[0] == [0]
    assert resized({0: [0, 1], 1: [0]}, [1, 1], demand(1, 1), fleet(2, 2))[0] == [1]


def test_most_utilised_is_by_capacity() -> None:
    # key 0 has 1 | 2; in all 2 of 2 and 3.5 of 4
    assert resized({0: [0, 1], 1: [0], 2: [1]}, [1, 1, 1], demand(3, 1, 1.5), fleet(2, 4))[0] == [1]


def test_one_less_is_an_absent_one_first() -> None:
    assert resized({0: [0, 1], 1: [1]}, [1, 1], demand(1, 1), fleet(2, 2, absent=[0]))[0] == [1]


def test_of_equally_utilised_ones_the_first_goes() -> None:
    assert resized({0: [0, 1, 2]}, [1], demand(1), fleet(2, 2, 2))[0] == [2]


def test_a_large_destination_covers_the_rate_before_the_count_is_reached() -> None:
    assert resized({0: [0]}, [3], demand(5), fleet(2, 9, 2))[0] == [0, 1]
    fixed = replace(demand(5), count=np.array([3]))
    assert resized({0: [0]}, [3], fixed, fleet(2, 9, 2))[0] == [0, 1, 2]


def test_capacities_that_add_up_but_for_rounding_cover() -> None:
    assert 0.3 + 0.3 + 0.3 < 0.9
    assert resized({0: [0, 1]}, [4], demand(0.9), fleet(0.3, 0.3, 0.3, 0.3)) == {0: [0, 1, 2]}


def test_each_choice_counts_for_the_next_and_the_largest_key_is_first() -> None:
    # 1 and 2 are empty: key 1, the larger, takes 1; then 2 is the emptier one for key 0
    made = resized({0: [0], 1: [0]}, [2, 2], demand(2.5, 3), fleet(2, 2, 2))
    assert made == {0: [0, 2], 1: [0, 1]}


def test_what_is_taken_away_leaves_room_for_others() -> None:
    # 3.5 | 4 | 5: the larger key leaves 1, which has 1 then and is where the other one gets its second
    held = {0: [0, 1], 1: [2], 2: [1], 3: [0]}
    made = resized(held, [1, 2, 1, 1], demand(6, 5, 1, 0.5), fleet(4, 4, 4))
    assert made == {0: [0], 1: [1, 2], 2: [1], 3: [0]}
