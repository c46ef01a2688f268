"""Phase 1: what becomes of the keys of a destination that is gone for good."""

from cacheroute.planning import retire as phase
from cacheroute.planning.pairs import Ints, Pairs
from cacheroute.planning.types import UNKNOWN, Assignment, Demand, Fleet
from tests.planning.builders import assignment, demand, fleet, placed


def retire(held: Assignment, asked: Demand, where: Fleet) -> tuple[Pairs, Ints]:
    return phase.retire(Pairs.of_assignment(held, asked.size, where.size), asked, where)


def test_without_a_loss_nothing_happens() -> None:
    found, lost = retire(assignment({0: [0], 1: [1]}, {0: 1}), demand(1, 1), fleet(9, 9))
    assert placed(found) == {0: [0], 1: [1]}
    assert lost.tolist() == []


def test_a_key_goes_to_its_standby_though_another_destination_has_less() -> None:
    found, lost = retire(assignment({0: [0], 1: [UNKNOWN]}, {1: 0}), demand(3, 1), fleet(9, 9, 9))
    assert placed(found) == {0: [0], 1: [0]}
    assert lost.tolist() == [1]
    assert found.standby.tolist() == [UNKNOWN, UNKNOWN], "the standby is its destination now"


def test_without_a_standby_that_is_present_it_goes_to_the_least_utilised() -> None:
    where = fleet(9, 9, 18, absent=[0])  # 1 has 2/9, 2 has 3/18
    for standby in ({}, {2: 0}):
        found, _ = retire(assignment({0: [1], 1: [2], 2: [UNKNOWN]}, standby), demand(2, 3, 1), where)
        assert placed(found)[2] == [2]


def test_the_largest_key_chooses_first() -> None:
    held = assignment({0: [1], 1: [UNKNOWN], 2: [UNKNOWN]})
    found, _ = retire(held, demand(2, 1, 3), fleet(9, 9))
    assert placed(found) == {0: [1], 1: [1], 2: [0]}


def test_what_others_took_over_counts_for_the_next_choice() -> None:
    held = assignment({0: [UNKNOWN], 1: [UNKNOWN]}, {0: 0})
    found, _ = retire(held, demand(3, 2), fleet(9, 9))
    assert placed(found) == {0: [0], 1: [1]}


def test_two_places_of_one_key_go_to_its_standby_and_one_more() -> None:
    held = assignment({0: [UNKNOWN, UNKNOWN], 1: [0]}, {0: 2})
    found, _ = retire(held, demand(2, 5), fleet(9, 9, 9))
    assert placed(found) == {0: [1, 2], 1: [0]}


def test_a_key_that_has_every_destination_loses_the_place() -> None:
    found, lost = retire(assignment({0: [0, 1, UNKNOWN]}), demand(9), fleet(9, 9))
    assert placed(found) == {0: [0, 1]}
    assert lost.tolist() == [0]


def test_what_keys_keep_elsewhere_counts_as_their_share() -> None:
    # key 0 keeps 2 of 4 on 0 and takes 2 to 1; key 1 finds 2 empty
    found, _ = retire(assignment({0: [0, UNKNOWN], 1: [UNKNOWN]}), demand(4, 1), fleet(9, 9, 9))
    assert placed(found) == {0: [0, 1], 1: [2]}


def test_and_not_as_the_whole() -> None:
    # key 0 keeps 2 of 4 on 0 and takes 2 to 2, which has 4.5 then; 1 has 3: key 2 finds least on 0
    held = assignment({0: [0, UNKNOWN], 1: [1], 2: [UNKNOWN], 3: [2]})
    found, _ = retire(held, demand(4, 3, 0.5, 2.5), fleet(9, 9, 9))
    assert placed(found) == {0: [0, 2], 1: [1], 2: [0], 3: [2]}
