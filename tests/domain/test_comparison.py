import dataclasses

import pytest

from cacheroute.domain.comparison import KeyMove, compare
from cacheroute.domain.interval import next_plan
from cacheroute.domain.plan import MoveCause
from tests.domain import builders, plans


def test_the_keys_that_move_come_by_rate_with_their_recorded_cause() -> None:
    assert compare(plans.before(), plans.after()).moves == (
        KeyMove("bolt", 2.0, ("pod-a",), ("pod-b",), MoveCause.BALANCED, inherited=False),
        KeyMove("kept", 1.5, ("pod-d",), ("pod-e",), None, inherited=True),
        KeyMove("new", 1.0, (), ("pod-b",), MoveCause.ADMITTED, inherited=False),
        KeyMove("gone", 0.5, ("pod-c",), (), MoveCause.DROPPED, inherited=False),
    )


def test_totals() -> None:
    found = compare(plans.before(), plans.after())
    assert (found.moved, found.admitted, found.dropped, found.standbys) == (2, 1, 1, 2)
    assert found.rewarm == pytest.approx((2.0 + 1.5 + 1.0) / (14.5 / 0.725))
    assert found.churn == pytest.approx(1 - 3 / 9)  # acme and the two of wide stay, of 6 pairs on either side
    assert found.different


def test_the_fleet_is_compared_by_name() -> None:
    fleet = compare(plans.before(), plans.after()).fleet
    assert (fleet.joined, fleet.left, fleet.vacated, fleet.returned) == (
        ("pod-e",),
        ("pod-d",),
        ("pod-c",),
        (),
    )
    assert compare(plans.after(), plans.before()).fleet.returned == ("pod-c",)


def test_a_plan_does_not_differ_from_itself() -> None:
    found = compare(plans.after(), plans.after())
    assert not found.different
    assert (found.moves, found.churn, found.rewarm, found.standbys) == ((), 0.0, 0.0, 0)


def test_other_seat_numbers_are_no_difference() -> None:
    same = plans.before()
    numbered = dataclasses.replace(
        same,
        seats=tuple(dataclasses.replace(seat, index=seat.index + 4) for seat in same.seats),
        groups=tuple(
            dataclasses.replace(
                group,
                seats=tuple(one + 4 for one in group.seats),
                standbys=tuple(one + 4 for one in group.standbys),
            )
            for group in same.groups
        ),
    )
    assert not compare(same, numbered).different


def test_another_standby_alone_is_a_difference() -> None:
    same = plans.before()
    other = dataclasses.replace(
        same, groups=(dataclasses.replace(same.groups[0], standbys=(2,)), *same.groups[1:])
    )
    found = compare(same, other)
    assert (found.standbys, found.moves, found.different) == (2, (), True)


def test_only_the_share_of_a_new_destination_lands_cold() -> None:
    same = plans.before()
    raised = dataclasses.replace(
        same, groups=(dataclasses.replace(same.groups[0], seats=(0, 1), standbys=(2,)), *same.groups[1:])
    )
    found = compare(same, raised)
    assert found.rewarm == pytest.approx((4.0 + 2.0) / 2 / (14.0 / 0.8))
    assert found.churn == pytest.approx(2 / 8)


def test_the_old_cause_of_a_key_is_not_told_again() -> None:
    """Else a replacement would be said to have been admitted when the key was."""
    moved = {one.key: one.cause for one in compare(plans.before(), plans.after()).moves}
    assert moved["kept"] is None


def test_it_agrees_with_what_the_planner_counted() -> None:
    """The planner compares by seat, this by name; without replacements both are the same."""
    fleet, tenants = builders.fleet("a", "b", "c"), builders.tenants(80)
    first = next_plan(builders.spec(), None, fleet, builders.rates(tenants), 0.0)
    turned = dict(zip(tenants, reversed(tenants.values()), strict=True))
    assert first is not None
    second = next_plan(builders.spec(), first, fleet, builders.rates(turned), 60.0)
    assert second is not None
    found, said = compare(first, second), second.summary
    assert len(found.moves) == said.keys_moved > 0
    assert found.churn == pytest.approx(said.churn)
    assert found.rewarm == pytest.approx(said.rewarm)
    assert all(one.cause is not None for one in found.moves)
