import dataclasses

import pytest

from cacheroute.domain.errors import DomainError
from cacheroute.domain.explanation import Cold, Loss, Place, Planned, Server, Service, explain
from cacheroute.domain.plan import MoveCause
from cacheroute.domain.spec import PolicyName
from tests.domain import plans


def planned(key: str) -> Planned:
    state = explain(plans.after(), key).state
    assert isinstance(state, Planned)
    return state


def cold(key: str) -> Cold:
    state = explain(plans.after(), key).state
    assert isinstance(state, Cold)
    return state


def test_a_key_with_one_destination_falls_to_its_standby() -> None:
    bolt = planned("bolt")
    assert bolt.places == (Place("pod-b", "h100", 2.0, None, None, None),)
    assert (bolt.rate, bolt.standbys) == (2.0, ("pod-e",))
    assert bolt.now == Service(Server.DESTINATIONS, ("pod-b",))
    assert bolt.losses == (Loss("pod-b", Service(Server.STANDBY, ("pod-e",))),)
    assert bolt.last_move is not None
    assert (bolt.last_move.cause, bolt.last_move.source) == (MoveCause.BALANCED, "pod-a")


def test_the_others_take_over_before_the_standby() -> None:
    state = explain(plans.before(), "wide").state
    assert isinstance(state, Planned)
    assert [place.share for place in state.places] == [3.0, 3.0]
    assert state.losses == (
        Loss("pod-b", Service(Server.DESTINATIONS, ("pod-c",))),
        Loss("pod-c", Service(Server.DESTINATIONS, ("pod-b",))),
    )


def test_a_vacant_seat_is_told_and_does_not_serve() -> None:
    wide = planned("wide")
    assert [(place.name, place.vacant_since) for place in wide.places] == [
        ("pod-b", None),
        ("pod-c", plans.SECOND),
    ]
    assert wide.now == Service(Server.DESTINATIONS, ("pod-b",))
    assert wide.losses == (Loss("pod-b", Service(Server.STANDBY, ("pod-e",))),)


def test_who_serves_without_destinations_and_without_standbys() -> None:
    plan = plans.after()
    away = tuple(
        dataclasses.replace(seat, destination=None, last=seat.name, vacated=1.0) for seat in plan.seats
    )
    vacant_b = dataclasses.replace(plan, seats=(plan.seats[0], away[1], *plan.seats[2:]))
    for seats, service in (
        (vacant_b.seats, Service(Server.STANDBY, ("pod-e",))),
        (away, Service(Server.FLEET)),
    ):
        state = explain(dataclasses.replace(plan, seats=seats), "bolt").state
        assert isinstance(state, Planned)
        assert (state.now, state.losses) == (service, ())


def test_a_standby_that_is_the_dying_one_helps_nobody() -> None:
    seats, groups = plans.before().seats, plans.before().groups
    own_standby = plans.plan(seats, (dataclasses.replace(groups[0], standbys=(0,)),))
    state = explain(own_standby, "acme").state
    assert isinstance(state, Planned)
    assert state.losses == (Loss("pod-a", Service(Server.FLEET)),)


def test_an_inherited_seat_says_from_whom_and_when() -> None:
    assert planned("kept").places == (Place("pod-e", "h100", 1.5, None, "pod-d", plans.SECOND),)


def test_shares_over_several_pools_are_not_guessed() -> None:
    plan = plans.before()
    mixed = dataclasses.replace(
        plan, seats=(*plan.seats[:2], dataclasses.replace(plan.seats[2], pool="h200"))
    )
    state = explain(dataclasses.replace(mixed, groups=plan.groups[:3]), "wide").state
    assert isinstance(state, Planned)
    assert [place.share for place in state.places] == [None, None]


def test_a_dropped_key_says_how() -> None:
    gone = cold("gone")
    assert gone.dropped is not None
    assert (gone.dropped.cause, gone.dropped.source) == (MoveCause.DROPPED, "pod-c")
    assert (gone.needed, gone.lowest) == (0.5, 1.0)


def test_a_key_that_was_never_planned() -> None:
    assert cold("nobody") == Cold(dropped=None, needed=0.5, lowest=1.0, overridden=False)


def test_nothing_is_needed_where_every_key_fits() -> None:
    fits = plans.plan((), (), said=plans.summary(threshold=0.0, bar=0.0, slots_used=0))
    assert explain(fits, "nobody").state == Cold(dropped=None, needed=None, lowest=None, overridden=False)


def test_policy_paper_admits_by_rate_and_tells_no_threshold() -> None:
    plan = plans.before()
    said = plans.summary(threshold=0.0, bar=0.0)
    paper = plans.plan(plan.seats, plan.groups, said=said, policy=PolicyName.PAPER)
    assert explain(paper, "nobody").state == Cold(dropped=None, needed=0.5, lowest=0.5, overridden=False)
    stable = plans.plan(plan.seats, plan.groups, said=said)
    assert explain(stable, "nobody").state == Cold(dropped=None, needed=None, lowest=0.5, overridden=False)


def test_keys_are_looked_up_in_lower_case() -> None:
    explained = explain(plans.after(), "BOLT")
    assert (explained.asked, explained.key) == ("BOLT", "bolt")
    assert isinstance(explained.state, Planned)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "key: is empty; requests without a key are always served by the cold route"),
        ("a b", "key 'a b': has ' ', and keys have only ASCII letters"),
        ("ä", "key 'ä': has 'ä'"),
        ("x" * 257, "is longer than 256 characters"),
    ],
)
def test_a_key_that_no_plan_can_have(key: str, message: str) -> None:
    with pytest.raises(DomainError, match=message.replace("(", r"\(")):
        explain(plans.after(), key)
