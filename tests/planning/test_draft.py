"""Phases 1 to 5 together: what one of them leaves to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from cacheroute.planning.draft import Draft, draft
from cacheroute.planning.options import StableOptions
from cacheroute.planning.report import Cause
from cacheroute.planning.types import UNKNOWN, Demand, Fleet
from tests.planning.builders import demand, fleet, pairs, placed


def made(
    places: Mapping[int, Sequence[int]],
    asked: Demand,
    where: Fleet,
    budget: float = 1.0,
    imbalance: float = 0.1,
) -> Draft:
    options = StableOptions(imbalance=imbalance, budget=budget)
    return draft(asked, where, pairs(places, asked.size), options, adapt=True)


@pytest.mark.parametrize(("budget", "left", "moves"), [(0.3, 0.9, 0), (0.4, 2.2, 1)])
def test_what_a_raised_count_moves_is_taken_from_the_budget(budget: float, left: float, moves: int) -> None:
    # Key 0 has 6 of a capacity of 4 and gets 2 as well: 3 of 13 are moved. 1 has 4.5 of 4.225 and moves the 1.
    held = {0: [0], 1: [1], 2: [1], 3: [1], 4: [3]}
    found = made(held, demand(6, 2, 1, 1.5, 2.5), fleet(4, 4, 4, 4), budget, 0.3)
    assert found.rebalance.budget == pytest.approx(left)
    assert placed(found.pairs)[0] == [0, 2]
    assert found.rebalance.moves == moves


def test_in_an_interval_with_a_loss_only_its_keys_move() -> None:
    # 0 has 4 + 1, 1 nothing but what was lost
    held = {0: [0], 1: [0], 2: [UNKNOWN]}
    found = made(held, demand(4, 1, 0.5), fleet(9, 9))
    assert placed(found.pairs) == {0: [0], 1: [0], 2: [1]}
    assert placed(made({0: [0], 1: [0], 2: [1]}, demand(4, 1, 0.5), fleet(9, 9)).pairs)[1] == [1]


def test_in_an_interval_with_a_new_destination_keys_move_only_there() -> None:
    # 1 is empty as well
    held, asked = {0: [0], 1: [0]}, demand(4, 1)
    joined = replace(fleet(9, 9, 9), joined=np.array([False, False, True]))
    assert placed(made(held, asked, joined).pairs)[1] == [2]
    assert placed(made(held, asked, fleet(9, 9, 9)).pairs)[1] == [1]


def test_while_one_is_absent_half_as_much_imbalance_again_is_accepted() -> None:
    # 4.5 | 3.5 is 1.125 times the mean: above 1.1, below 1.15
    held, asked = {0: [0], 1: [0], 2: [1]}, demand(4, 0.5, 3.5)
    assert placed(made(held, asked, fleet(9, 9, 9, absent=[2])).pairs)[1] == [0]
    assert placed(made(held, asked, fleet(9, 9)).pairs)[1] == [1]


def test_relief_is_what_is_no_longer_above_the_ceiling() -> None:
    # 5 | 3 with a ceiling of 4.4 becomes 4 | 4
    assert made({0: [0], 1: [0], 2: [1]}, demand(4, 1, 3), fleet(9, 9)).relief == pytest.approx(0.6)


def test_each_key_has_its_cause() -> None:
    # key 0 is dropped for key 3, key 1 moves, key 2 stays
    held = {0: [0], 1: [0], 2: [0]}
    found = made(held, demand(0.1, 2, 3, 4), fleet(9, 9, warm=2), 1.0)
    assert found.counted_because.tolist() == [0, 0, 0, Cause.ADMITTED]
    where = replace(fleet(9, 9), warm_slots=np.array([2, 1]))
    found = made(held, demand(0.1, 2, 3, 4), where)
    assert found.counted_because.tolist() == [Cause.DROPPED, 0, 0, Cause.ADMITTED]
    assert found.optional


@pytest.mark.parametrize(("rate", "count"), [(1.7, 2), (1.5, 1)])
def test_a_count_falls_only_well_below_what_one_less_carries(rate: float, count: int) -> None:
    # one carries 2, and 1.6 is 1 - 0.2 of it
    assert len(placed(made({0: [0, 1]}, demand(rate), fleet(2, 2)).pairs)[0]) == count


def test_an_absent_destination_is_part_of_the_count() -> None:
    found = made({0: [0, 1]}, demand(9), fleet(2, 2, absent=[0]))
    assert placed(found.pairs) == {0: [0, 1]}


def test_a_key_in_force_that_no_longer_fits_gets_what_a_newcomer_would() -> None:
    # the user fixed three destinations once; now there are two slots, and one is enough
    few = replace(fleet(9, 9, 9), warm_slots=np.array([2, 0, 0]))
    found = draft(demand(1), few, pairs({0: [0, 1, 2]}, 1), StableOptions(), adapt=False)
    assert found.counted_because.tolist() == [Cause.LOWERED]
    assert len(placed(found.pairs)[0]) == 1


def test_the_threshold_is_the_last_rate_that_fits_and_nothing_where_all_fit() -> None:
    asked = demand(4, 3, 2)
    assert made({}, asked, fleet(9, warm=2)).admission.threshold == 3
    assert made({}, asked, fleet(9, warm=3)).admission.threshold == 0


def test_keys_that_need_more_slots_than_are_left_are_skipped() -> None:
    # 3 slots: 7 takes two, 6 would as well
    found = made({}, demand(7, 6, 1), fleet(4, 4, 4, warm=1))
    assert (list(placed(found.pairs)), found.skipped) == ([0, 2], 1)
    found = made({}, demand(7, 6), fleet(4, 4, 4, warm=1))
    assert (list(placed(found.pairs)), found.skipped) == ([0], 1)
