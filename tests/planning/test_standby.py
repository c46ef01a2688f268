"""Phase 6: who takes over when a destination is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from cacheroute.planning.pairs import loads
from cacheroute.planning.report import LossReport
from cacheroute.planning.standby import choose_standbys, stand_in
from cacheroute.planning.types import UNKNOWN, Fleet
from tests.planning.builders import demand, fleet, pairs

THREE = fleet(9, 9, 9)
FOUR = fleet(9, 9, 9, 9)


def chosen(
    places: Mapping[int, Sequence[int]],
    rate: Sequence[float],
    where: Fleet,
    standby: Mapping[int, int] | None = None,
    limit: float = 9.0,
) -> tuple[list[int], LossReport]:
    held, asked = pairs(places, len(rate), standby), demand(*rate)
    found, loss = choose_standbys(held, loads(held, asked, where), asked, where, limit)
    return found.standby.tolist(), loss


def test_the_keys_of_one_destination_are_spread_over_the_others() -> None:
    # 5 | 1 | 2. 0 is lost: 3 goes to 1, which has 4 then, and 2 to 2. When 1 is lost its key goes to 2: 5 | 3
    standby, loss = chosen({0: [0], 1: [0], 2: [1], 3: [2]}, [3, 2, 1, 2], THREE)
    assert standby[:2] == [1, 2]
    assert (loss.imbalance, loss.destination, loss.keys) == (1.25, 1, 0)


def test_a_key_that_is_not_admitted_has_none() -> None:
    assert chosen({0: [0]}, [1, 1], THREE, {0: 1})[0] == [1, UNKNOWN]


@pytest.mark.parametrize(
    ("zone", "node", "standby"),
    [
        ([0, 0, 0, 1], [0, 1, 2, 3], 3),  # the only other zone, though the hottest
        ([0, 0, 0, 0], [0, 0, 1, 2], 2),  # no other zone: another node
        ([0, 0, 0, 0], [0, 0, 0, 0], 1),  # nothing apart: the coldest
        ([UNKNOWN, UNKNOWN, 0, 1], [0, 1, 2, 3], 1),  # its zone is not known: any node
    ],
)
def test_another_zone_or_else_another_node(zone: list[int], node: list[int], standby: int) -> None:
    where = replace(FOUR, zone=np.array(zone), node=np.array(node))
    assert chosen({0: [0], 1: [1], 2: [2], 3: [3]}, [4, 1, 2, 3], where)[0][0] == standby


def test_one_in_force_stays_though_another_is_colder() -> None:
    assert chosen({0: [0], 1: [1]}, [1, 1], THREE, {0: 1})[0][0] == 1


@pytest.mark.parametrize("former", [0, 2])
def test_one_that_is_absent_or_its_own_is_replaced(former: int) -> None:
    standby, loss = chosen({0: [0]}, [1], fleet(9, 9, 9, absent=[2]), {0: former})
    assert standby == [1]
    assert loss.changed == 1


@pytest.mark.parametrize(("limit", "expected"), [(1.5, [1, 1]), (1.4, [1, 2])])
def test_they_are_spread_anew_only_above_the_limit(limit: float, expected: list[int]) -> None:
    # 4 | 2 | 2. 0 is lost: both of its keys at 1 make 6 | 2, 1.5 times the mean
    standby, loss = chosen({0: [0], 1: [0], 2: [1], 3: [2]}, [2, 2, 2, 2], THREE, {0: 1, 1: 1}, limit)
    assert standby[:2] == expected
    assert loss.imbalance == (1.5 if limit == 1.5 else 1.0)


def test_nothing_is_spread_anew_where_that_would_not_help() -> None:
    # whoever takes over the one large key has twice the mean
    assert chosen({0: [0]}, [2], THREE, {0: 2}, 1.1)[0] == [2]


def test_a_key_of_several_destinations_is_shared_by_those_left_and_stands_by_elsewhere() -> None:
    # 0 is lost: 1 has the whole 4, 2 and 3 none: three times the mean
    standby, loss = chosen({0: [0, 1], 1: [2]}, [4, 0], FOUR)
    assert standby[0] in {2, 3}
    assert (loss.imbalance, loss.destination) == (3, 0)


def test_a_single_destination_has_no_standby() -> None:
    standby, loss = chosen({0: [0], 1: [0]}, [1, 1], fleet(9))
    assert standby == [UNKNOWN, UNKNOWN]
    assert loss == LossReport(imbalance=0, destination=UNKNOWN, keys=2)


def test_keys_of_an_absent_destination_are_stood_in_for_at_once_largest_first() -> None:
    # 0 is absent. 1 has 1, 2 none: 3 goes to 2, and 1 to 1, for 3 is absent too; that of key 3 stays
    held = pairs({0: [0], 1: [0], 2: [1], 3: [0]}, 4, {1: 3, 3: 2})
    found = stand_in(held, demand(1, 3, 1, 0), fleet(9, 9, 9, 9, absent=[0, 3]))
    assert found.standby.tolist() == [1, 2, UNKNOWN, 2]
    assert stand_in(held, demand(1, 3, 1, 0), FOUR) is held


def test_spreading_anew_that_makes_it_worse_is_not_done() -> None:
    # 0 is lost: 3 + 3 | 2 + 2 + 2 + 0.2 is nearly even; largest first would make 3 + 2 + 2 | 3 + 2 + 0.2
    former = {0: 1, 1: 1, 2: 2, 3: 2, 4: 2}
    places = {key: [0] for key in range(5)} | {5: [2]}
    assert chosen(places, [3, 3, 2, 2, 2, 0.2], THREE, former, 1.0)[0][:5] == [1, 1, 2, 2, 2]


def test_what_shared_keys_bring_counts_before_the_others_are_spread() -> None:
    # 3 | 2 | 3. 0 is lost: 1 gets the other half of key 0, 4 then, so key 1 goes to 2
    assert chosen({0: [0, 1], 1: [0], 2: [2]}, [4, 1, 3], THREE)[0][1] == 2


def test_standbys_of_shared_keys_are_spread_largest_first() -> None:
    # 2 has 1 and 3 has 1.5: the half of 4 goes to 2, which would have 3 then, and the half of 2 to 3
    standby, _ = chosen({0: [0, 1], 1: [0, 1], 2: [2], 3: [3]}, [2, 4, 1, 1.5], FOUR)
    assert standby[:2] == [3, 2]
