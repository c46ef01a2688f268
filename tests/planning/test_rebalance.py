"""Phase 5: few moves and swaps, until no destination is above its ceiling."""

import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from cacheroute.planning.pairs import loads
from cacheroute.planning.rebalance import Freedom, Rebalanced, ceilings, rebalance
from cacheroute.planning.report import Stop
from cacheroute.planning.types import Fleet
from tests.planning.builders import demand, fleet, pairs, placed

THREE = fleet(9, 9, 9)
TWO = fleet(9, 9)


def freedom(keys: int, *ceiling: float, budget: float = np.inf) -> Freedom:
    """Return that every key may go anywhere, where it is paid for."""
    return Freedom(
        ceiling=np.array(ceiling, dtype=np.float64),
        budget=budget,
        free=np.zeros(keys, dtype=np.bool_),
        anywhere=np.zeros(keys, dtype=np.bool_),
        open=np.ones(len(ceiling), dtype=np.bool_),
    )


def made(
    places: Mapping[int, Sequence[int]], rate: Sequence[float], where: Fleet, allowed: Freedom
) -> Rebalanced:
    held, asked = pairs(places, len(rate)), demand(*rate)
    return rebalance(held, loads(held, asked, where), asked, where, allowed)


def test_ceilings_are_the_limit_times_an_even_share() -> None:
    assert ceilings(np.array([8.0, 1.0]), fleet(3, 6), 1.5).tolist() == pytest.approx([4.5, 9])


def test_nothing_moves_below_the_ceiling() -> None:
    done = made({0: [0], 1: [1]}, [4, 2], TWO, freedom(2, 4, 4))
    assert placed(done.pairs) == {0: [0], 1: [1]}
    assert (done.report.stop, done.report.moves, done.report.moved_rate) == (Stop.BALANCED, 0, 0)


def test_one_move_that_fits_is_enough() -> None:
    # 5 | 3 becomes 4 | 4
    done = made({0: [0], 1: [0], 2: [1]}, [4, 1, 3], TWO, freedom(3, 4, 4))
    assert placed(done.pairs) == {0: [0], 1: [1], 2: [1]}
    assert done.moved.tolist() == [1]
    assert (done.report.before, done.report.after) == (1.25, 1)
    assert (done.report.moves, done.report.swaps, done.report.moved_rate) == (1, 0, 1)


def test_it_goes_to_the_coldest() -> None:
    done = made({0: [0], 1: [0], 2: [1]}, [4, 1, 2], THREE, freedom(3, 4, 4, 4))
    assert placed(done.pairs)[1] == [2]
    done = made({0: [0], 1: [0]}, [4, 1], THREE, freedom(2, 4, 4, 4))
    assert placed(done.pairs)[1] == [1], "of equally cold ones the first"


def test_two_small_moves_rather_than_a_large_one() -> None:
    # 3 too many: 5 would do, 2 and 1.5 are cheaper
    done = made({0: [0], 1: [0], 2: [0]}, [5, 2, 1.5], TWO, freedom(3, 5.5, 5.5))
    assert done.moved.tolist() == [1, 2]
    assert done.report.moved_rate == 3.5


def test_one_large_move_rather_than_two_small_ones() -> None:
    # 3 too many: the best next move, 2, would leave 1, and 2 more had to go; 3.5 alone is cheaper
    done = made({0: [0], 1: [0], 2: [0], 3: [0]}, [3.5, 2, 2, 2.5], TWO, freedom(4, 7, 7))
    assert done.moved.tolist() == [0]
    assert done.report.moved_rate == 3.5


def test_a_swap_where_no_move_fits() -> None:
    # 9 | 5: whatever moves makes the other too hot; 4 for 2 makes 7 | 7 and moves least
    done = made({0: [0], 1: [0], 2: [1], 3: [1]}, [5, 4, 3, 2], TWO, freedom(4, 7.5, 7.5))
    assert placed(done.pairs) == {0: [0], 1: [1], 2: [1], 3: [0]}
    assert done.swapped.tolist() == [1, 3]
    assert (done.report.moves, done.report.swaps, done.report.moved_rate) == (0, 1, 6)


@pytest.mark.parametrize(("budget", "moved"), [(0.99, []), (1.0, [1])])
def test_the_budget_stops(budget: float, moved: list[int]) -> None:
    done = made({0: [0], 1: [0], 2: [1]}, [4, 1, 3], TWO, freedom(3, 4, 4, budget=budget))
    assert done.moved.tolist() == moved
    assert (done.report.stop is Stop.BALANCED) == bool(moved)


def test_all_moves_together_stay_within_the_budget() -> None:
    # 0 and 1 have 5 of 4 and 1 to move each
    held, rate = {0: [0], 1: [0], 2: [1], 3: [1]}, [4, 1, 4, 1]
    done = made(held, rate, THREE, freedom(4, 4, 4, 4, budget=1.5))
    assert (done.moved.tolist(), done.report.moved_rate, done.report.stop) == ([1], 1, Stop.BUDGET)


def test_the_hottest_by_capacity_is_relieved_first() -> None:
    # 0 is 1 above with a capacity of 2, 1 is 1.5 above with 4; the budget is enough for one of them
    held, rate = {0: [0], 1: [0], 2: [1], 3: [1]}, [1, 1, 1.5, 2]
    done = made(held, rate, fleet(2, 4, 4), freedom(4, 1, 2, 4, budget=1.5))
    assert done.moved.tolist() == [0]


def test_a_newcomer_costs_nothing() -> None:
    allowed = replace(freedom(3, 4, 4, budget=0), free=np.array([False, True, False]))
    done = made({0: [0], 1: [0], 2: [1]}, [4, 1, 3], TWO, allowed)
    assert done.moved.tolist() == [1]
    assert done.report.moved_rate == 0


def test_a_key_hotter_than_the_ceiling_stays() -> None:
    done = made({0: [0], 1: [1]}, [6, 1], TWO, freedom(2, 4, 4))
    assert placed(done.pairs) == {0: [0], 1: [1]}
    assert done.report.stop is Stop.NO_MOVE


def test_only_to_open_destinations_but_for_keys_that_may_go_anywhere() -> None:
    held, rate = {0: [0], 1: [0], 2: [2]}, [4, 1, 2]
    allowed = replace(freedom(3, 4, 4, 4), open=np.array([False, False, True]))
    assert placed(made(held, rate, THREE, allowed).pairs)[1] == [2]
    allowed = replace(allowed, anywhere=np.array([False, True, False]))
    assert placed(made(held, rate, THREE, allowed).pairs)[1] == [1]


def test_a_move_that_a_later_one_made_needless_is_taken_back() -> None:
    # 7 | 0 | 1 with ceilings 3, 2, 6: 2 moves to 1; then 5 has to move to 2, and 2 may stay
    done = made({0: [0], 1: [0], 2: [2]}, [2, 5, 1], THREE, freedom(3, 3, 2, 6))
    assert placed(done.pairs) == {0: [0], 1: [2], 2: [2]}
    assert done.report.moved_rate == 5


def test_the_dearest_is_taken_back_first() -> None:
    # 8 | 0 | 4 with ceilings 2.5, 3, 9: 2 and 1 move to 1, then 5 to 2; there is room for one of them to come back
    done = made({0: [0], 1: [0], 2: [0], 3: [2]}, [2, 1, 5, 4], THREE, freedom(4, 2.5, 3, 9))
    assert placed(done.pairs) == {0: [0], 1: [1], 2: [2], 3: [2]}


def test_what_is_taken_back_is_in_the_budget_again() -> None:
    # as above, and 3 has 4.5 with a ceiling of 3.5: 7.5 pays for 2 and 5, and for 1.5 once 2 is back
    held, rate = {0: [0], 1: [0], 2: [2], 3: [3], 4: [3]}, [2, 5, 1, 3, 1.5]
    done = made(held, rate, fleet(9, 9, 9, 9), freedom(5, 3, 2, 6, 3.5, budget=7.5))
    assert (done.moved.tolist(), done.report.stop) == ([1, 4], Stop.BALANCED)


def test_a_key_of_several_destinations_goes_only_where_its_share_stays_the_same() -> None:
    # key 0 has 2 on each of 0 and 1, which have capacity 2
    held, rate = {0: [0, 1], 1: [0]}, [4, 0.5]
    for capacity, own in ((4, [0, 1]), (2, [1, 2])):
        done = made(held, rate, fleet(2, 2, capacity), freedom(2, 1, 2, 2))
        assert placed(done.pairs)[0] == own


def test_a_key_goes_only_where_it_fits() -> None:
    # 3 exceeds the capacity 2 of the coldest
    held, rate = {0: [0], 1: [0], 2: [2]}, [3, 3, 1]
    done = made(held, rate, fleet(6, 2, 6), freedom(3, 4, 9, 4))
    assert placed(done.pairs) == {0: [2], 1: [0], 2: [2]}


def test_a_swap_among_thousands_of_keys_is_found_in_little_memory() -> None:
    here, there = 3000, 3000
    rate = [1.0] * here + [0.9] * there
    assigned = pairs({key: [0 if key < here else 1] for key in range(here + there)}, here + there)
    wanted, where = demand(*rate), fleet(5000, 5000)
    free = freedom(here + there, here - 0.05, 0.9 * there + 0.5)
    tracemalloc.start()
    done = rebalance(assigned, loads(assigned, wanted, where), wanted, where, free)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (done.report.swaps, done.report.stop) == (1, Stop.BALANCED)
    assert peak < 20_000_000, "a matrix of all pairs would be 72 MB"
