from collections.abc import Mapping

import pytest

from cacheroute.proxy.snapshot import CLUSTERS, ENDPOINTS, LISTENERS, ROUTES, Resource, Snapshot
from cacheroute.proxy.subscription import (
    ACK_TIMEOUT_SECONDS,
    BRIDGE_SECONDS,
    MOST_NAMES,
    STUCK_SECONDS,
    Ask,
    Push,
    Stream,
    SubscriptionError,
)


def snapshot(**versions: Mapping[str, str]) -> Snapshot:
    """Build a snapshot from name → version by short type name."""
    types = {"clusters": CLUSTERS, "endpoints": ENDPOINTS, "listeners": LISTENERS, "routes": ROUTES}
    resources = {
        types[kind]: {name: Resource(name, version, b"") for name, version in some.items()}
        for kind, some in versions.items()
    }
    return Snapshot(repr(versions), resources)


def plan(cluster: str = "1", endpoints: str = "1", routes: str = "1") -> Snapshot:
    return snapshot(
        clusters={"a": cluster}, endpoints={"a": endpoints}, listeners={"l": "1"}, routes={"r": routes}
    )


class Envoy:
    """Answers like Envoy does: endpoints when it has clusters, routes when it has a listener."""

    def __init__(self) -> None:
        self.stream = Stream()
        self.sent: list[Push] = []
        self.now = 0.0

    def poll(self) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        pushes = self.stream.poll(self.now)
        self.sent.extend(pushes)
        return [
            (one.type_url.rpartition(".")[2], tuple(each.name for each in one.resources), one.removed)
            for one in pushes
        ]

    def subscribe(self, type_url: str, *names: str, initial: Mapping[str, str] | None = None) -> None:
        self.stream.ask(Ask(type_url, subscribe=names, initial_versions=initial or {}))

    def synced(self) -> bool:
        return self.stream.synced

    def ack(self, type_url: str, error: str = "") -> None:
        self.answer(type_url, error)

    def answer(self, type_url: str, error: str) -> tuple[Resource, ...]:
        nonce = [push.nonce for push in self.sent if push.type_url == type_url][-1]
        return self.stream.ask(Ask(type_url, nonce=nonce, error=error))


@pytest.fixture
def envoy() -> Envoy:
    """Return an Envoy that has everything of ``plan()``."""
    one = Envoy()
    one.stream.offer(plan())
    one.subscribe(CLUSTERS)
    assert one.poll() == [("Cluster", ("a",), ())]
    one.subscribe(ENDPOINTS, "a")
    assert one.poll() == [("ClusterLoadAssignment", ("a",), ())]
    one.ack(CLUSTERS)
    one.ack(ENDPOINTS)
    one.subscribe(LISTENERS)
    assert one.poll() == [("Listener", ("l",), ())]
    one.subscribe(ROUTES, "r")
    assert one.poll() == [("RouteConfiguration", ("r",), ())]
    one.ack(ROUTES)
    assert not one.synced()
    one.ack(LISTENERS)
    assert one.synced()
    return one


def test_nothing_is_sent_before_the_first_snapshot() -> None:
    envoy = Envoy()
    envoy.subscribe(CLUSTERS)
    assert envoy.poll() == []
    assert not envoy.synced()


def test_an_empty_answer_is_an_answer() -> None:
    envoy = Envoy()
    envoy.stream.offer(snapshot(clusters={}))
    envoy.subscribe(CLUSTERS)
    assert envoy.poll() == [("Cluster", (), ())]
    assert envoy.poll() == []


def test_what_has_not_changed_is_not_sent(envoy: Envoy) -> None:
    envoy.stream.offer(plan())
    assert envoy.poll() == []


def test_a_changed_cluster_brings_its_endpoints_along(envoy: Envoy) -> None:
    envoy.stream.offer(plan(cluster="2"))
    assert envoy.poll() == [("Cluster", ("a",), ()), ("ClusterLoadAssignment", ("a",), ())]


def test_routes_wait_for_clusters_and_endpoints(envoy: Envoy) -> None:
    envoy.stream.offer(plan("2", "2", "2"))
    assert len(envoy.poll()) == 2
    envoy.ack(CLUSTERS)
    assert envoy.poll() == []
    envoy.ack(ENDPOINTS)
    assert envoy.poll() == [("RouteConfiguration", ("r",), ())]


def test_routes_do_not_wait_for_ever(envoy: Envoy) -> None:
    envoy.stream.offer(plan(endpoints="2", routes="2"))
    assert len(envoy.poll()) == 1
    assert envoy.stream.deadline(envoy.now) == ACK_TIMEOUT_SECONDS
    envoy.now = ACK_TIMEOUT_SECONDS
    assert envoy.poll() == [("RouteConfiguration", ("r",), ())]


def test_endpoints_alone_touch_no_routes(envoy: Envoy) -> None:
    envoy.stream.offer(plan(endpoints="2"))
    assert envoy.poll() == [("ClusterLoadAssignment", ("a",), ())]
    envoy.ack(ENDPOINTS)
    assert envoy.poll() == []
    assert envoy.synced()


def test_one_answer_is_in_flight_and_the_latest_wins(envoy: Envoy) -> None:
    for version in ("2", "3", "4"):
        envoy.stream.offer(plan(endpoints=version))
        envoy.poll()
    assert [push.resources[0].version for push in envoy.sent if push.type_url == ENDPOINTS] == ["1", "2"]
    envoy.ack(ENDPOINTS)
    envoy.poll()
    assert envoy.sent[-1].resources[0].version == "4"


def test_removals_come_after_the_routes(envoy: Envoy) -> None:
    envoy.stream.offer(snapshot(clusters={}, endpoints={}, listeners={"l": "1"}, routes={"r": "2"}))
    assert envoy.poll() == [("RouteConfiguration", ("r",), ())]
    envoy.ack(ROUTES)
    assert envoy.poll() == [("Cluster", (), ("a",)), ("ClusterLoadAssignment", (), ("a",))]
    envoy.ack(CLUSTERS)
    envoy.ack(ENDPOINTS)
    assert envoy.synced()
    assert envoy.poll() == []


def test_what_was_deleted_while_away_is_removed_after_a_reconnect() -> None:
    envoy = Envoy()
    envoy.stream.offer(plan())
    envoy.subscribe(CLUSTERS, initial={"a": "1", "gone": "1"})
    assert envoy.poll() == [("Cluster", (), ())]
    envoy.ack(CLUSTERS)
    assert envoy.poll() == [("Cluster", (), ("gone",))]


def test_every_named_subscription_is_answered_even_if_nothing_changed(envoy: Envoy) -> None:
    envoy.subscribe(ENDPOINTS, "a")
    assert envoy.poll() == [("ClusterLoadAssignment", ("a",), ())]


def test_a_name_that_does_not_exist_is_answered_as_removed(envoy: Envoy) -> None:
    envoy.subscribe(ENDPOINTS, "nothing")
    assert envoy.poll() == [("ClusterLoadAssignment", (), ("nothing",))]
    assert envoy.poll() == []


def test_what_is_unsubscribed_is_not_sent(envoy: Envoy) -> None:
    envoy.stream.ask(Ask(ENDPOINTS, unsubscribe=("a",)))
    envoy.stream.offer(plan(endpoints="2"))
    assert envoy.poll() == []


def test_a_rejected_version_is_not_sent_again(envoy: Envoy) -> None:
    envoy.stream.offer(plan(routes="bad"))
    envoy.poll()
    envoy.ack(ROUTES, error="no such thing")
    assert not envoy.synced()
    assert envoy.poll() == []
    envoy.stream.offer(plan(routes="good"))
    assert envoy.poll() == [("RouteConfiguration", ("r",), ())]
    envoy.ack(ROUTES)
    assert envoy.synced()


def test_a_good_resource_of_a_rejected_response_is_accepted_by_itself(envoy: Envoy) -> None:
    """A rejection does not say which one it means; what is good reaches the proxy, only the bad one is rejected."""
    envoy.stream.offer(
        snapshot(
            clusters={"a": "2", "b": "bad", "c": "1"},
            endpoints={"a": "1", "b": "1", "c": "1"},
            listeners={"l": "1"},
            routes={"r": "1"},
        )
    )
    assert envoy.poll()[0] == ("Cluster", ("a", "b", "c"), ())
    assert envoy.answer(CLUSTERS, error="b: no such thing") == ()
    rejected: list[Resource] = []
    for name in "abc":
        assert ("Cluster", (name,), ()) in envoy.poll()
        answered = envoy.answer(CLUSTERS, error="no such thing" if name == "b" else "")
        rejected += answered if name == "b" else ()
    assert [one.name for one in rejected] == ["b"]
    assert [one for one in envoy.poll() if one[0] == "Cluster"] == []


def test_going_back_from_a_rejected_version_needs_nothing(envoy: Envoy) -> None:
    envoy.stream.offer(plan(routes="bad"))
    envoy.poll()
    envoy.ack(ROUTES, error="no")
    envoy.stream.offer(plan())
    assert envoy.poll() == []
    assert envoy.synced()


def test_a_stale_nonce_acknowledges_nothing(envoy: Envoy) -> None:
    envoy.stream.offer(plan(routes="2"))
    envoy.poll()
    envoy.stream.ask(Ask(ROUTES, nonce="0"))
    assert not envoy.synced()


def test_endpoints_suit_old_and_new_routes_while_requests_may_have_either(envoy: Envoy) -> None:
    envoy.stream.offer(plan(endpoints="2", routes="2"), {"a": Resource("a", "1+2", b"")})
    envoy.poll()
    assert [(push.type_url, push.resources[0].version) for push in envoy.sent[-1:]] == [(ENDPOINTS, "1+2")]
    envoy.ack(ENDPOINTS)
    assert envoy.poll() == [("RouteConfiguration", ("r",), ())]
    envoy.ack(ROUTES)
    assert envoy.poll() == []
    assert envoy.synced()
    assert envoy.stream.deadline(envoy.now) == BRIDGE_SECONDS
    envoy.now = BRIDGE_SECONDS
    assert envoy.poll() == [("ClusterLoadAssignment", ("a",), ())]
    assert envoy.sent[-1].resources[0].version == "2"
    envoy.ack(ENDPOINTS)
    assert envoy.synced()


def test_a_bridge_never_keeps_a_lost_destination(envoy: Envoy) -> None:
    envoy.stream.offer(plan(endpoints="2", routes="2"), {"a": Resource("a", "1+2", b"")})
    envoy.poll()
    envoy.ack(ENDPOINTS)
    envoy.stream.offer(plan(endpoints="without the lost one", routes="2"))
    envoy.poll()
    assert envoy.sent[-1].resources[0].version == "without the lost one"


def withheld() -> Snapshot:
    """Return a snapshot of which only endpoints and listener may be known to this proxy."""
    one = snapshot(endpoints={"a": "2"}, listeners={"l": "1"})
    everything = frozenset((kind, "*") for kind in (CLUSTERS, ROUTES, ENDPOINTS))
    return Snapshot("held", one.resources, everything)


def test_what_is_withheld_is_neither_answered_nor_removed() -> None:
    envoy = Envoy()
    envoy.stream.offer(withheld())
    envoy.subscribe(CLUSTERS, initial={"a": "1", "gone": "1"})
    envoy.subscribe(ROUTES, "r", initial={"r": "1"})
    envoy.subscribe(ENDPOINTS, "a", "gone", initial={"a": "1", "gone": "1"})
    assert envoy.poll() == [("ClusterLoadAssignment", ("a",), ())]
    envoy.ack(ENDPOINTS)
    assert envoy.poll() == []
    assert not envoy.synced()


def test_who_waits_for_what_is_withheld_gets_it_when_it_no_longer_is() -> None:
    envoy = Envoy()
    envoy.stream.offer(withheld())
    envoy.subscribe(CLUSTERS)
    envoy.subscribe(ROUTES, "r")
    assert envoy.poll() == []
    envoy.stream.offer(plan())
    assert envoy.poll() == [("Cluster", ("a",), ())]
    envoy.ack(CLUSTERS)
    assert envoy.poll() == [("RouteConfiguration", ("r",), ())]


def test_types_that_are_not_served_are_not_answered_and_do_not_count(envoy: Envoy) -> None:
    envoy.subscribe("type.googleapis.com/envoy.service.runtime.v3.Runtime", "layer")
    assert envoy.poll() == []
    assert envoy.synced()


def test_more_names_than_an_envoy_asks_for_are_refused(envoy: Envoy) -> None:
    with pytest.raises(SubscriptionError, match="names"):
        envoy.subscribe(ENDPOINTS, *map(str, range(MOST_NAMES + 1)))
    with pytest.raises(SubscriptionError, match="names"):
        envoy.subscribe(ENDPOINTS, initial={str(one): "1" for one in range(MOST_NAMES + 1)})


def test_a_missing_answer_is_missed_after_a_while(envoy: Envoy) -> None:
    envoy.stream.offer(plan(endpoints="2"))
    envoy.poll()
    assert not envoy.stream.stuck(STUCK_SECONDS - 0.01)
    assert envoy.stream.stuck(STUCK_SECONDS)
    envoy.ack(ENDPOINTS)
    assert not envoy.stream.stuck(STUCK_SECONDS)
