"""Whatever happens between a proxy and its stream, and in whatever order: in the end it has exactly what it is offered."""

from collections.abc import Mapping

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cacheroute.proxy.snapshot import CLUSTERS, ENDPOINTS, LISTENERS, ROUTES, Resource, Snapshot, snapshot
from cacheroute.proxy.subscription import ACK_TIMEOUT_SECONDS, BRIDGE_SECONDS, Ask, Push, Stream

KINDS = (CLUSTERS, ENDPOINTS, LISTENERS, ROUTES)
BAD = "bad"
"""A version that Envoy rejects."""
VERSIONS = st.sampled_from(["1", "2", "3", BAD])
GOOD = st.sampled_from(["1", "2", "3"])
NAMES = ("a", "b", "c")


def offered(
    clusters: Mapping[str, str], endpoints: Mapping[str, str], routes: str, *, withhold: bool = False
) -> Snapshot:
    """Build a snapshot; every cluster has endpoints."""
    made = snapshot(
        {
            CLUSTERS: [Resource(name, version, b"") for name, version in clusters.items()],
            ENDPOINTS: [Resource(name, endpoints.get(name, "1"), b"") for name in clusters],
            LISTENERS: [Resource("l", "1", b"")],
            ROUTES: [Resource("r", routes, b"")],
        }
    )
    if not withhold:
        return made
    kept = {kind: some for kind, some in made.resources.items() if kind not in (CLUSTERS, ROUTES)}
    return Snapshot("held", kept, frozenset({(kind, "*") for kind in (CLUSTERS, ROUTES, ENDPOINTS)}))


CLUSTER_SETS = st.dictionaries(st.sampled_from(NAMES), VERSIONS)
GOOD_SETS = st.dictionaries(st.sampled_from(NAMES), GOOD)


class Histories(RuleBasedStateMachine):
    """An Envoy by its documentation.

    It acknowledges in order, keeps what it has over reconnects, and asks for the endpoints of the clusters that it
    has and for the routes of its listener.
    """

    @initialize()
    def connects(self) -> None:
        self.now = 0.0
        self.last: Snapshot | None = None
        self.watched: set[str] = set()
        self.has: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        self.reconnects()

    @rule()
    def reconnects(self) -> None:
        """Also in the middle of warming: what was on its way is lost."""
        self.stream = Stream()
        self.flying: dict[str, Push] = {}
        self.asked: set[str] = set()
        if self.last is not None:
            self.stream.offer(self.last)
        self.ask(CLUSTERS)
        self.ask(LISTENERS)
        self.subscribe_to_what_follows()

    @rule(clusters=CLUSTER_SETS, endpoints=CLUSTER_SETS, routes=VERSIONS, withhold=st.booleans())
    def is_offered(
        self, clusters: dict[str, str], endpoints: dict[str, str], routes: str, *, withhold: bool
    ) -> None:
        self.last = offered(clusters, endpoints, routes, withhold=withhold)
        self.stream.offer(self.last)

    @rule(clusters=GOOD_SETS, version=GOOD)
    def is_offered_a_bridge(self, clusters: dict[str, str], version: str) -> None:
        self.last = offered(clusters, {}, version)
        self.stream.offer(self.last, {name: Resource(name, f"bridge {version}", b"") for name in clusters})

    @rule()
    def is_sent(self) -> None:
        for push in self.stream.poll(self.now):
            assert push.type_url not in self.flying, "two of one type on their way"
            self.flying[push.type_url] = push

    @rule(kind=st.sampled_from(KINDS))
    def answers(self, kind: str) -> None:
        push = self.flying.pop(kind, None)
        if push is None:
            return
        error = "bad" if any(one.version == BAD for one in push.resources) else ""
        if not error:
            self.has[kind].update({one.name: one.version for one in push.resources})
            for name in push.removed:
                self.has[kind].pop(name, None)
        self.stream.ask(Ask(kind, nonce=push.nonce, error=error))
        self.subscribe_to_what_follows()

    @rule(seconds=st.sampled_from([0.1, ACK_TIMEOUT_SECONDS, BRIDGE_SECONDS, 100.0]))
    def waits(self, seconds: float) -> None:
        self.now += seconds

    @rule(kind=st.sampled_from([*KINDS, "type.googleapis.com/unknown"]), error=st.sampled_from(["", "no"]))
    def answers_what_was_never_sent(self, kind: str, error: str) -> None:
        if kind in self.asked or kind not in KINDS:
            assert self.stream.ask(Ask(kind, nonce="never", error=error)) == ()

    @rule(kind=st.sampled_from(KINDS))
    def leaves_what_it_does_not_have(self, kind: str) -> None:
        if kind in self.asked:
            self.stream.ask(Ask(kind, unsubscribe=("nothing", "*" if kind in (ENDPOINTS, ROUTES) else "")))

    @rule(clusters=GOOD_SETS, endpoints=GOOD_SETS, routes=GOOD)
    def in_the_end_it_has_what_it_is_offered(
        self, clusters: dict[str, str], endpoints: dict[str, str], routes: str
    ) -> None:
        self.last = offered(clusters, endpoints, routes)
        self.stream.offer(self.last)
        for _ in range(30):
            self.is_sent()
            for kind in KINDS:
                self.answers(kind)
            self.waits(BRIDGE_SECONDS)
        assert not self.flying
        assert self.stream.synced
        expected = {kind: {name: one.version for name, one in self.last.of(kind).items()} for kind in KINDS}
        assert self.has == expected

    @invariant()
    def never_is_synced_while_something_differs(self) -> None:
        if hasattr(self, "stream") and self.last is not None and self.stream.synced:
            assert not self.last.withheld
            for kind in (CLUSTERS, ROUTES):
                assert self.has[kind] == {name: one.version for name, one in self.last.of(kind).items()}

    def ask(self, kind: str, *names: str) -> None:
        initial = {} if kind in self.asked else dict(self.has[kind])
        self.asked.add(kind)
        self.stream.ask(Ask(kind, subscribe=names, initial_versions=initial))

    def subscribe_to_what_follows(self) -> None:
        """Ask for endpoints of new clusters and for routes; leave the endpoints of clusters that are gone."""
        wanted = set(self.has[CLUSTERS])
        known = self.watched if ENDPOINTS in self.asked else set[str]()
        if new := wanted - known:
            self.ask(ENDPOINTS, *sorted(new))
        if gone := known - wanted:
            self.stream.ask(Ask(ENDPOINTS, unsubscribe=tuple(sorted(gone))))
        self.has[ENDPOINTS] = {name: one for name, one in self.has[ENDPOINTS].items() if name in wanted}
        self.watched = wanted
        if self.has[LISTENERS] and ROUTES not in self.asked:
            self.ask(ROUTES, "r")


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
