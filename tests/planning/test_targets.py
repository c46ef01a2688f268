"""Few destinations stand by for one, whatever the size of the fleet."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cacheroute.planning import targets
from cacheroute.planning.pairs import Ints
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import UNKNOWN, Demand, Fleet, Plan

MOST = targets.most_targets(200)


def of(*numbers: int) -> Ints:
    return np.array(numbers, dtype=np.int64)


def in_force(former: Sequence[int], fresh: Sequence[int], candidates: Sequence[int]) -> list[int]:
    found: list[int] = targets.targets_in_force(of(*former), of(*fresh), of(*candidates), MOST).tolist()
    return found


def test_those_in_force_stay_and_are_filled_up() -> None:
    assert in_force([7, 7, 9, UNKNOWN, 3], [1, 2], [1, 2, 3, 7, 9]) == [1, 2, 3, 7, 9]


def test_those_that_may_not_stand_by_are_left_out() -> None:
    assert in_force([7, 9], [1], [1, 9]) == [1, 9]


def test_of_too_many_the_most_used_stay() -> None:
    former = [*range(MOST), *range(1, MOST + 1)]
    assert in_force(former, [50], range(60)) == [*range(MOST)]
    assert in_force([*former, MOST], [50], range(60)) == [*range(1, MOST + 1)]


def test_a_small_fleet_uses_all() -> None:
    candidates = of(*range(MOST))
    assert targets.fresh_targets(99, candidates, np.zeros(100), MOST) is candidates


def test_the_coldest_stand_by_for_all_and_the_others_differ() -> None:
    heat = np.ones(200)
    heat[[50, 120]] = 0.5
    chosen = [set(targets.fresh_targets(r, np.arange(200), heat, MOST).tolist()) for r in range(40)]
    assert {len(one) for one in chosen} == {MOST}
    assert set.intersection(*chosen) == {50, 120}
    assert len(set.union(*chosen)) > 2 * MOST


def planned(size: int, keys: int, before: Plan | None = None, drift: float = 0.0) -> Plan:
    random = np.random.default_rng(3)
    rate = random.lognormal(0.0, 0.5, keys) * np.exp(drift * random.standard_normal(keys))
    demand = Demand(rate * 2.0 * size / rate.sum())
    return plan_stable(demand, Fleet(np.full(size, 2.5), np.full(size, 2 * keys // size)), before)


def pairs_of(plan: Plan) -> set[tuple[int, int]]:
    """Return (destination, standby) of the keys with one destination."""
    alone = np.diff(plan.offsets) == 1
    owner = plan.members[plan.offsets[:-1]]
    return set(zip(owner[alone].tolist(), plan.standby[alone].tolist(), strict=True))


@pytest.mark.parametrize("size", [30, 120, 600])
def test_a_fleet_needs_few_groups_and_a_loss_is_still_taken_evenly(size: int) -> None:
    first = planned(size, 100 * size)
    later = planned(size, 100 * size, first, drift=0.3)
    for plan in (first, later):
        assert len(pairs_of(plan)) <= targets.most_targets(size) * size
        assert plan.report.loss.imbalance <= 1.15


def test_a_larger_fleet_has_fewer_for_each_and_a_route_table_of_bounded_size() -> None:
    assert [targets.most_targets(size) for size in (2, 500, 501, 1000)] == [16, 16, 8, 8]


def test_a_fleet_that_outgrew_its_standbys_keeps_the_most_used_and_moves_no_key() -> None:
    size = 600
    wide = planned(size, 50 * size)
    random = np.random.default_rng(7)
    owner = wide.members[wide.offsets[:-1]]
    scattered = (owner + 1 + random.integers(0, targets.most_targets(30), owner.size)) % size
    former = replace(wide, standby=np.where(wide.standby == UNKNOWN, UNKNOWN, scattered))
    later = planned(size, 50 * size, former)
    assert np.array_equal(later.members, former.members)
    assert len(pairs_of(later)) <= targets.most_targets(size) * size
    assert np.count_nonzero(later.standby == former.standby) >= former.standby.size // 4
    assert later.report.loss.imbalance <= 1.15
