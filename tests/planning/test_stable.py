"""Steps that a planner meets in production; none fails, each is told in the report."""

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from cacheroute.planning.errors import PlanningInputError
from cacheroute.planning.options import StableOptions
from cacheroute.planning.report import Cause, Verdict
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import UNKNOWN, Assignment, Demand, Fleet, Plan, Policy

EAGER = StableOptions(budget=1.0, weigh=False)


def fleet(size: int, warm: int, capacity: float = 2.5) -> Fleet:
    return Fleet(np.full(size, capacity), np.full(size, warm, dtype=np.int64))


def lognormal(keys: int, total: float, seed: int = 1) -> NDArray[np.float64]:
    rate = np.random.default_rng(seed).lognormal(0, 1.65, keys)
    capped: NDArray[np.float64] = np.minimum(rate * (total / rate.sum()), 0.05 * total)
    return capped


def causes(made: Plan) -> set[Cause]:
    return {Cause(cause) for cause in made.report.changes.cause.tolist()}


def test_it_is_a_policy() -> None:
    policy: Policy = plan_stable
    assert policy(Demand(np.ones(1)), fleet(1, 1), None).admitted.tolist() == [0]


def test_one_key_twenty_times_as_hot_gets_more_destinations() -> None:
    rate = lognormal(200, 10.0)
    first = plan_stable(Demand(rate), fleet(6, 100))
    hot = int(np.argmax(rate))
    rate[hot] *= 20
    made = plan_stable(Demand(rate), fleet(6, 100), first)
    changes = made.report.changes
    assert made.report.verdict.verdict is Verdict.INSTALLED
    assert set(changes.cause[changes.key == hot].tolist()) == {Cause.RAISED}
    assert np.diff(made.offsets)[0] == np.ceil(rate[hot] / 2.5)


def test_a_tenth_of_the_keys_replaced() -> None:
    rate = lognormal(200, 10.0)
    before, now = rate.copy(), rate.copy()
    before[:20], now[20:40] = 0.0, 0.0
    first = plan_stable(Demand(before), fleet(6, 20))
    made = plan_stable(Demand(now), fleet(6, 20), first)
    assert {Cause.ADMITTED, Cause.DROPPED} <= causes(made)
    assert made.report.changes.count(Cause.DROPPED) <= 20
    assert made.report.imbalance <= 1.1 + 1e-9


def test_all_rates_three_times_as_high_move_nothing_while_counts_stay() -> None:
    rate = lognormal(200, 2.0)
    first = plan_stable(Demand(rate), fleet(6, 100))
    made = plan_stable(Demand(3 * rate), fleet(6, 100), first)
    assert made.report.keys_moved == 0
    assert made.members.tobytes() == first.members.tobytes()


def test_a_night_without_traffic_keeps_the_plan() -> None:
    first = plan_stable(Demand(lognormal(50, 3.0)), fleet(4, 20))
    made = plan_stable(Demand(np.zeros(50)), fleet(4, 20), first)
    assert set(made.admitted.tolist()) == set(first.admitted.tolist())
    assert made.report.keys_moved == 0
    assert made.report.imbalance == made.report.coverage == 0


def test_one_destination_has_all_and_no_standby() -> None:
    made = plan_stable(Demand(np.array([9.0, 1.0])), fleet(1, 2))
    assert made.members.tolist() == [0, 0]
    assert made.standby.tolist() == [UNKNOWN, UNKNOWN]
    assert made.report.overloaded.tolist() == [0]
    assert made.report.loss.destination == UNKNOWN


def test_more_destinations_than_keys() -> None:
    made = plan_stable(Demand(np.array([1.0, 2.0])), fleet(9, 1))
    assert made.admitted.tolist() == [1, 0]
    assert made.report.loss.keys == 0


def test_fewer_slots_than_destinations_and_none() -> None:
    few = Fleet(np.ones(3), np.array([1, 0, 0], dtype=np.int64))
    assert plan_stable(Demand(np.array([0.2, 0.5])), few).admitted.tolist() == [1]
    none = plan_stable(Demand(np.array([0.3, 0.6])), fleet(3, 0))
    assert none.admitted.size == 0
    assert np.allclose(none.load, 0.3)


def test_all_destinations_absent_keeps_the_plan() -> None:
    demand = Demand(np.array([1.0, 2.0]))
    first = plan_stable(demand, fleet(3, 2))
    away = Fleet(first.load + 1, np.full(3, 2, dtype=np.int64), present=np.zeros(3, dtype=np.bool_))
    made = plan_stable(demand, away, first)
    assert made.members.tobytes() == first.members.tobytes()
    assert not made.load.any()
    assert plan_stable(demand, away).admitted.size == 0


def test_no_keys() -> None:
    made = plan_stable(Demand(np.empty(0), unkeyed=3.0), fleet(3, 2))
    assert made.load.tolist() == [1, 1, 1]
    assert made.report.total_rate == 3


def test_a_rate_that_is_no_number_is_refused() -> None:
    with pytest.raises(PlanningInputError, match=r"rate\[1\]"):
        plan_stable(Demand(np.array([1.0, float("nan")])), fleet(2, 2))


@pytest.mark.parametrize("name", ["admitted", "members", "standby"])
def test_a_plan_in_force_of_another_world_is_refused(name: str) -> None:
    parts = {"admitted": [0], "members": [0], "standby": [1]} | {name: [7]}
    arrays = {part: np.array(values, dtype=np.int64) for part, values in parts.items()}
    previous = Assignment(offsets=np.array([0, 1]), **arrays)
    with pytest.raises(PlanningInputError, match=f"previous.{name}"):
        plan_stable(Demand(np.ones(2)), fleet(2, 2), previous)


def test_a_user_can_keep_a_key_cold_and_admit_another() -> None:
    route = np.array([1, 2, 0], dtype=np.int8)
    first = plan_stable(Demand(np.array([3.0, 0.0, 1.0])), fleet(1, 2, 9.0))
    assert first.admitted.tolist() == [0, 2]
    made = plan_stable(Demand(np.array([3.0, 0.0, 1.0]), route=route), fleet(1, 2, 9.0), first)
    assert made.admitted.tolist() == [2, 1]
    assert causes(made) == {Cause.FORCED_COLD, Cause.FIXED}


def test_what_replaces_a_lost_destination_is_not_called_more() -> None:
    previous = Assignment(np.array([0]), np.array([0, 2]), np.array([0, UNKNOWN]), np.array([1]))
    changes = plan_stable(Demand(np.array([6.0])), fleet(4, 9), previous).report.changes
    assert sorted(changes.cause.tolist()) == [Cause.LOST, Cause.RAISED]


def test_a_key_whose_destination_is_absent_gets_a_standby() -> None:
    previous = Assignment(np.array([0]), np.array([0, 1]), np.array([2]), np.array([UNKNOWN]))
    where = Fleet(np.ones(3), np.ones(3, dtype=np.int64), present=np.array([True, True, False]))
    made = plan_stable(Demand(np.array([0.5])), where, previous)
    assert made.members.tolist() == [2]
    assert made.standby.tolist() == [0]
    assert made.load.tolist() == [0.5, 0, 0]


def test_a_count_of_capacities_that_add_up_but_for_rounding_stays() -> None:
    demand, where = Demand(np.array([0.8])), fleet(12, 12, 0.1)
    first = plan_stable(demand, where)
    assert first.members.size == 8
    assert plan_stable(demand, where, first).members.size == 8


def test_slots_that_large_destinations_leave_go_to_others_at_once() -> None:
    where = Fleet(np.array([1.0, 2.0]), np.array([1, 1], dtype=np.int64))
    demand = Demand(np.array([2.0, 0.5]), unkeyed=0.0)
    first = plan_stable(demand, where, Assignment(*(np.array(part) for part in ([0], [0, 1], [1], [0]))))
    assert first.admitted.tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("capacity", [1e-300, 1.0, 1e300])
def test_extreme_numbers_neither_warn_nor_fail(scale: float, capacity: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made: Plan | None = None
        for seed in range(3):
            rate = np.array([*np.random.default_rng(seed).exponential(scale, 12), 0.0, 5e-324])
            where = Fleet(np.array([1.0, 2.0, 1.0]) * capacity, np.full(3, 9, dtype=np.int64))
            made = plan_stable(Demand(rate), where, made, options=EAGER)
            assert np.isfinite(made.load).all()
            assert np.isclose(made.load.sum() / scale, rate.sum() / scale)


def worst_loss(made: Plan, demand: Demand, size: int) -> float:
    """Return the worst max / mean over all single losses of a uniform fleet, key by key."""
    worst = 0.0
    for lost in range(size):
        load, cold = np.zeros(size), float(np.delete(demand.rate, made.admitted).sum()) + demand.unkeyed
        edges = zip(made.offsets[:-1].tolist(), made.offsets[1:].tolist(), strict=True)
        for key, standby, (start, end) in zip(
            made.admitted.tolist(), made.standby.tolist(), edges, strict=True
        ):
            left = [r for r in made.members[start:end].tolist() if r != lost] or [standby]
            load[left] += demand.rate[key] / len(left)
        load += cold / (size - 1)
        others = np.delete(load, lost)
        worst = max(worst, float(others.max() / others.mean()))
    return worst


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keys", [2_000, 128_824])
def test_any_single_loss_leaves_a_first_plan_in_balance(seed: int, keys: int) -> None:
    rate = np.random.default_rng(seed).lognormal(0, 1.65, 128_824)
    rate = np.minimum(rate, 0.0029 * rate.sum())
    rate = np.sort(rate)[-keys:]
    demand = Demand(rate * (70.0 / rate.sum()))
    made = plan_stable(demand, fleet(30, 128))
    assert made.report.loss.imbalance <= 1.15 + 1e-9
    assert made.report.loss.imbalance == pytest.approx(worst_loss(made, demand, 30))
