"""What losing, draining, returning and joining destinations may do to a plan, in any order."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cacheroute.domain.fleet import DestinationState, Fleet
from cacheroute.domain.movement import moved, served_by
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document, to_document
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.seating import changes, repair
from tests.domain.builders import destination, fleet, observe, rates, tenants

NAMES = "abcdef"
FLEETS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(DestinationState)), max_size=6).map(
    lambda states: Fleet(tuple(destination(name, states[name]) for name in sorted(states)))
)
HISTORIES = st.lists(FLEETS, min_size=1, max_size=8)


def first_plan() -> Plan:
    plan = reconcile(0.0, observe(fleet("a", "b", "c", "d"), rates(tenants(30))), Event.INTERVAL).plan
    assert plan is not None
    return plan


def after(history: list[Fleet]) -> Plan:
    plan = first_plan()
    for time, seen in enumerate(history):
        plan = repair(plan, seen, float(time))
    return plan


@given(HISTORIES)
def test_a_repair_never_changes_which_seats_keys_have(history: list[Fleet]) -> None:
    plan, start = after(history), first_plan()
    assert plan.version == start.version
    assert plan.groups == start.groups
    assert [seat.index for seat in plan.seats] == [seat.index for seat in start.seats]


@given(HISTORIES)
def test_seats_are_filled_by_ready_destinations_once(history: list[Fleet]) -> None:
    plan = after(history)
    ready = {one.name for one in history[-1].in_state(DestinationState.READY)}
    seated = [seat.destination for seat in plan.seats if seat.destination is not None]
    assert len(seated) == len(set(seated))
    assert set(seated) <= ready
    assert len(seated) == min(len(plan.seats), len(ready))


@given(HISTORIES)
def test_the_same_world_changes_nothing_more(history: list[Fleet]) -> None:
    plan = after(history)
    assert repair(plan, history[-1], 99.0) is plan


@given(HISTORIES, FLEETS)
def test_only_keys_of_seats_that_changed_hands_move(history: list[Fleet], seen: Fleet) -> None:
    before = after(history)
    now = repair(before, seen, 50.0)
    hands = {change.seat for change in changes(before.seats, now.seats)}
    old, new = served_by(before), served_by(now)
    touched = {
        key for group in before.groups if hands & set(group.seats + group.standbys) for key in group.keys
    }
    differing = {key for key in old if old[key] != new[key]}
    assert differing <= touched
    assert moved(before, now).keys == len(differing)


@given(HISTORIES)
def test_a_stored_plan_is_repaired_as_the_one_in_memory(history: list[Fleet]) -> None:
    plan = first_plan()
    stored = from_document(to_document(plan))
    for time, seen in enumerate(history):
        plan = repair(plan, seen, float(time))
        stored = from_document(to_document(repair(stored, seen, float(time))))
    assert stored == plan
    assert stored.revision == plan.revision


@given(FLEETS)
def test_a_newcomer_of_another_pool_takes_no_seat(seen: Fleet) -> None:
    moved_away = Fleet(tuple(replace(one, name=f"x{one.name}", pool="other") for one in seen.destinations))
    plan = repair(first_plan(), moved_away, 1.0)
    assert all(seat.destination is None for seat in plan.seats)
