"""What came and went between two assignments, and why."""

from collections.abc import Mapping, Sequence

import numpy as np

from cacheroute.planning.changes import changes_between
from cacheroute.planning.report import Cause
from cacheroute.planning.types import UNKNOWN
from tests.planning.builders import demand, fleet, pairs

_Row = tuple[Cause, int, int, float]


def rows(
    before: Sequence[int],
    after: Sequence[int],
    moved: int = 0,
    counted: int = 0,
    capacity: Sequence[float] = (9, 9, 9, 9),
) -> list[_Row]:
    """Return (cause, source, target, rate) of each change of one key of 12 requests/s."""
    because = (np.array([moved], dtype=np.int8), np.array([counted], dtype=np.int8))
    places: list[Mapping[int, Sequence[int]]] = [{0: own} if own else {} for own in (before, after)]
    old, new = (pairs(one, 1) for one in places)
    found = changes_between(old, new, demand(12), fleet(*capacity), because)
    columns = (found.source.tolist(), found.target.tolist(), found.rate.tolist())
    causes = [Cause(cause) for cause in found.cause.tolist()]
    return list(zip(causes, *columns, strict=True))


def test_nothing_changed() -> None:
    assert rows([0, 1], [0, 1]) == []


def test_a_move_has_both_ends() -> None:
    assert rows([0], [1], moved=Cause.SWAPPED) == [(Cause.SWAPPED, 0, 1, 12)]
    assert rows([0], [1]) == [(Cause.BALANCED, 0, 1, 12)], "what nobody gave a reason for"


def test_what_a_key_left_and_got_is_paired_in_ascending_order() -> None:
    assert rows([3, 2], [0, 1], moved=Cause.BALANCED) == [
        (Cause.BALANCED, 2, 0, 6),
        (Cause.BALANCED, 3, 1, 6),
    ]


def test_one_more_and_one_less_have_one_end() -> None:
    assert rows([0], [0, 1], counted=Cause.RAISED) == [(Cause.RAISED, UNKNOWN, 1, 6)]
    assert rows([0, 1], [0], counted=Cause.LOWERED) == [(Cause.LOWERED, 1, UNKNOWN, 6)]


def test_a_key_that_moves_and_grows_has_both_causes() -> None:
    assert rows([0], [1, 2], moved=Cause.BALANCED, counted=Cause.RAISED) == [
        (Cause.RAISED, UNKNOWN, 2, 6),
        (Cause.BALANCED, 0, 1, 6),
    ]


def test_admitted_and_dropped() -> None:
    assert rows([], [0], counted=Cause.ADMITTED) == [(Cause.ADMITTED, UNKNOWN, 0, 12)]
    assert rows([0], [], counted=Cause.DROPPED) == [(Cause.DROPPED, 0, UNKNOWN, 12)]


def test_what_replaces_a_destination_that_is_gone_is_lost_and_what_comes_beside_it_more() -> None:
    assert rows([UNKNOWN], [1, 3], moved=Cause.LOST, counted=Cause.RAISED) == [
        (Cause.LOST, UNKNOWN, 1, 6),
        (Cause.RAISED, UNKNOWN, 3, 6),
    ]


def test_a_key_that_moves_and_has_lost_one_and_grows_tells_all_three() -> None:
    found = rows([UNKNOWN, 2], [0, 1, 3], moved=Cause.LOST, counted=Cause.RAISED)
    assert [row[:3] for row in found] == [
        (Cause.LOST, UNKNOWN, 1),
        (Cause.RAISED, UNKNOWN, 3),
        (Cause.LOST, 2, 0),
    ]


def test_the_rate_is_the_share_of_that_destination() -> None:
    assert rows([0], [0, 1], counted=Cause.RAISED, capacity=(1, 2)) == [(Cause.RAISED, UNKNOWN, 1, 8)]
    assert rows([0, 1], [0], counted=Cause.LOWERED, capacity=(1, 2)) == [(Cause.LOWERED, 1, UNKNOWN, 8)]
