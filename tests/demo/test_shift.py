"""What a plan changed."""

import pytest

from cacheroute.demo.shift import Shift, added, shift
from cacheroute.domain.plan import Group, Plan, PlanSummary, Seat, groups_version
from cacheroute.domain.spec import PolicyName


def plan(where: dict[str, int], rates: dict[str, float] | None = None) -> Plan:
    """Return a plan with each key on one seat; seat 0 is engine-0."""
    groups = tuple(
        Group(
            seats=(seat,),
            standbys=(),
            keys=tuple(sorted(key for key in where if where[key] == seat)),
            rates=tuple((rates or {}).get(key, 1.0) for key in sorted(where) if where[key] == seat),
        )
        for seat in sorted(set(where.values()))
    )
    return Plan(
        version=groups_version(groups),
        seats=tuple(Seat(index, "h100", f"engine-{index}") for index in range(3)),
        groups=groups,
        next_seat=3,
        policy=PolicyName.STABLE,
        installed=0.0,
        summary=PlanSummary(len(where), len(where), len(where), 30, 1.0, 1.0),
    )


def test_keys_that_moved_are_told_from_new_ones() -> None:
    before = plan({"a": 0, "b": 1, "c": 2, "gone": 0})
    found = shift(before, plan({"a": 0, "b": 2, "c": 2, "new": 1}, {"b": 3.0, "new": 1.0}))
    assert (found.keys, found.moved, found.admitted) == (3, 1, 1)
    assert found.moved_percent == pytest.approx(100 / 3)
    assert found.cold_percent == pytest.approx(100 * 3 / 6)


def test_the_first_plan_moves_nothing() -> None:
    found = shift(None, plan({"a": 0, "b": 1}))
    assert (found.keys, found.moved, found.admitted, found.moved_percent) == (0, 0, 2, 0.0)


def test_the_same_plan_moves_nothing() -> None:
    found = shift(plan({"a": 0, "b": 1}), plan({"a": 0, "b": 1}, {"a": 9.0}))
    assert (found.keys, found.moved, found.cold_percent) == (2, 0, 0.0)


def test_two_plans_in_one_interval_add_up() -> None:
    total = added([Shift(10, 2, 5.0, 1, {"Swapped": 2}), Shift(11, 1, 2.5, 0, {"Swapped": 2, "Admitted": 1})])
    assert (total.keys, total.moved, total.cold_percent, total.admitted) == (11, 3, 7.5, 1)
    assert total.causes == {"Swapped": 4, "Admitted": 1}
    assert added([]) == Shift()
