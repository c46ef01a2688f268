"""What one proxy has, wants and is owed: delta xDS as a passive state machine.

The driver feeds requests and snapshots in and sends what ``poll`` returns. Order (xds-protocol, "Eventual
consistency considerations"): clusters and endpoints at once and together, because Envoy acknowledges a cluster
only when it has its endpoints; listener and routes when both are acknowledged, because routes are not warmed;
removals last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cacheroute.proxy.snapshot import CLUSTERS, ENDPOINTS, LISTENERS, ROUTES, Resource, Snapshot

ACK_TIMEOUT_SECONDS = 5.0
"""After this a missing ACK no longer holds back what should follow it."""

STUCK_SECONDS = 30.0
"""After this the stream of a missing ACK is closed: the proxy connects anew and says what it has."""

MOST_NAMES = 20_000
"""Names of one type that one stream may subscribe to: an Envoy asks for a few of each plan."""

BRIDGE_SECONDS = 5.0
"""How long endpoints still suit the old routes after the new ones are acknowledged: a request keeps the route
table that it began with, and its key is read when its whole body is there."""

_FOUNDATIONS = (CLUSTERS, ENDPOINTS)
_USERS = (LISTENERS, ROUTES)
_WILDCARD = "*"
_WILDCARD_TYPES = (CLUSTERS, LISTENERS)


@dataclass(frozen=True, slots=True)
class Ask:
    """A DeltaDiscoveryRequest without the node.

    Attributes:
        type_url: of the resources it is about.
        subscribe: names that the proxy wants from now on; ``*`` for all.
        unsubscribe: names that it no longer wants.
        initial_versions: what it still has from an earlier stream, name → version.
        nonce: of the response that it answers; empty where it answers none.
        error: why it rejects that response; empty for an ACK.
    """

    type_url: str
    subscribe: tuple[str, ...] = ()
    unsubscribe: tuple[str, ...] = ()
    initial_versions: Mapping[str, str] = field(default_factory=dict)
    nonce: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Push:
    """A DeltaDiscoveryResponse to send."""

    type_url: str
    nonce: str
    resources: tuple[Resource, ...]
    removed: tuple[str, ...]
    sent: float


class SubscriptionError(Exception):
    """A proxy asks for what no Envoy asks for; the message says what, in a few words."""


@dataclass(slots=True)
class _Subscription:
    """The state of one type: what the proxy has (``known``), what it must be answered (``owed``).

    A rejection does not say which resource of a response it means. Those of a rejected response are sent one at a time
    (``apart``), so that a good one is not held to be bad.
    """

    wildcard: bool = False
    unanswered: bool = True
    names: set[str] = field(default_factory=set)
    owed: set[str] = field(default_factory=set)
    known: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    pending: Push | None = None

    def wants(self, name: str) -> bool:
        return self.wildcard or name in self.names

    def changed(self, offered: Mapping[str, Resource]) -> Iterator[Resource]:
        """Yield what the proxy lacks or is owed, but not what it already rejected."""
        for name in offered if self.wildcard else sorted(self.names & offered.keys()):
            one = offered[name]
            due = name in self.owed or self.known.get(name) != one.version
            if due and self.rejected.get(name) != one.version:
                yield one

    def next_response(self, offered: Mapping[str, Resource]) -> tuple[Resource, ...]:
        """Return what to send next of what changed: all that may come together, else one that comes alone."""
        changed = tuple(self.changed(offered))
        return tuple(one for one in changed if one.name not in self.apart) or changed[:1]

    def gone(self, offered: Mapping[str, Resource]) -> set[str]:
        """Return what the proxy has and should not have any more."""
        return {name for name in self.known if name not in offered and self.wants(name)}

    def never_there(self, offered: Mapping[str, Resource]) -> set[str]:
        """Return what it asked for and what does not exist."""
        return {name for name in self.owed if name not in offered and name not in self.known}

    def settled(self, offered: Mapping[str, Resource]) -> bool:
        missing = any(
            self.known.get(name) != one.version for name, one in offered.items() if self.wants(name)
        )
        return self.pending is None and not self.unanswered and not missing and not self.gone(offered)


class Stream:
    """One proxy's stream."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, _Subscription] = {}
        self._offered: Snapshot | None = None
        self._bridge: Mapping[str, Resource] = {}
        self._bridge_end: float | None = None
        self._pushes = 0

    def offer(self, snapshot: Snapshot, bridge: Mapping[str, Resource] | None = None) -> None:
        """Make ``snapshot`` what the proxy should have.

        Args:
            snapshot: all resources.
            bridge: endpoints by name that suit the old and the new routes; they are served instead of the
                snapshot's until the proxy has had the new routes for BRIDGE_SECONDS.
        """
        self._offered = snapshot
        self._bridge, self._bridge_end = bridge or {}, None

    def ask(self, ask: Ask) -> tuple[Resource, ...]:
        """Take note of a request: an ACK, a NACK, a change of subscriptions, or several of them at once.

        Returns:
            The resources of the response that it answers: accepted, or where ``ask.error`` says so rejected. None of
            a rejected response of several: which one is meant is known when they have been sent one at a time.

        Raises:
            SubscriptionError: it asks for more than an Envoy does.
        """
        if ask.type_url not in (*_FOUNDATIONS, *_USERS):
            return ()  # runtime or secrets for instance, which we have none of
        self._check(ask)
        first = ask.type_url not in self._subscriptions
        state = self._subscriptions.setdefault(ask.type_url, _Subscription())
        if first:
            state.known.update(ask.initial_versions)
            state.wildcard = not ask.subscribe and ask.type_url in _WILDCARD_TYPES
        self._subscribe(state, ask)
        pending = state.pending
        if pending is None or pending.nonce != ask.nonce:
            return ()
        if ask.error and len(pending.resources) > 1:
            self._separate(state, pending)
            return ()
        self._answered(state, pending, rejected=bool(ask.error))
        return pending.resources

    def poll(self, now: float) -> list[Push]:
        """Return what must be sent now; the caller sends all of it, in this order.

        Args:
            now: seconds on a clock that never goes back.
        """
        if self._offered is None:
            return []
        self._cross_bridge(self._offered, now)
        pushes = list(self._updates(_FOUNDATIONS, now))
        if not self._waiting(_FOUNDATIONS, now):
            pushes.extend(self._updates(_USERS, now))
            if not self._waiting(_USERS, now):
                pushes.extend(self._removals(now))
        return pushes

    def deadline(self, now: float) -> float | None:
        """Return when ``poll`` may have something new without a request or snapshot; None for never."""
        ends = [
            since + bound for since in self._unanswered() for bound in (ACK_TIMEOUT_SECONDS, STUCK_SECONDS)
        ]
        ends.extend([] if self._bridge_end is None else [self._bridge_end])
        return min((end for end in ends if end > now), default=None)

    def has(self, snapshot: Snapshot, kinds: Iterable[str]) -> bool:
        """Whether the proxy has acknowledged these types of a snapshot, and nothing else of them is on its way."""
        return all(
            kind in self._subscriptions and self._subscriptions[kind].settled(snapshot.of(kind))
            for kind in kinds
        )

    def versions(self, type_url: str) -> frozenset[str]:
        """Return the versions of a type that the proxy has or is being sent."""
        state = self._of(type_url)
        sent = state.pending.resources if state.pending else ()
        return frozenset((*state.known.values(), *(one.version for one in sent)))

    def stuck(self, now: float) -> bool:
        """Whether an answer is missing for so long that the proxy should connect anew."""
        return any(now >= since + STUCK_SECONDS for since in self._unanswered())

    @property
    def synced(self) -> bool:
        """Whether the proxy has acknowledged everything in the snapshot offered."""
        needed = {*_WILDCARD_TYPES, ROUTES}
        offered = self._offered
        if offered is None or not needed <= self._subscriptions.keys():
            return False
        complete = offered.of(ENDPOINTS).keys() <= self._of(ENDPOINTS).names
        return complete and all(
            state.settled(self._wanted(kind)) for kind, state in self._subscriptions.items()
        )

    def _unanswered(self) -> Iterator[float]:
        return (state.pending.sent for state in self._subscriptions.values() if state.pending)

    def _cross_bridge(self, offered: Snapshot, now: float) -> None:
        if self._bridge_end is not None and now >= self._bridge_end:
            self._bridge, self._bridge_end = {}, None
        elif self._bridge and self._bridge_end is None and self._of(ROUTES).settled(offered.of(ROUTES)):
            self._bridge_end = now + BRIDGE_SECONDS

    def _wanted(self, kind: str) -> Mapping[str, Resource]:
        """Return what the proxy should have of one type by now."""
        final = self._offered.of(kind) if self._offered else {}
        if kind != ENDPOINTS or not self._bridge:
            return final
        return {name: self._bridge.get(name, one) for name, one in final.items()}

    def _of(self, type_url: str) -> _Subscription:
        return self._subscriptions.get(type_url, _Subscription())

    def _check(self, ask: Ask) -> None:
        state = self._of(ask.type_url)
        names = max(len(state.names), len(state.known)) + len(ask.subscribe) + len(ask.initial_versions)
        if names > MOST_NAMES:
            raise SubscriptionError(f"more than {MOST_NAMES} names of resources")

    @staticmethod
    def _subscribe(state: _Subscription, ask: Ask) -> None:
        state.wildcard = (state.wildcard or _WILDCARD in ask.subscribe) and _WILDCARD not in ask.unsubscribe
        named = set(ask.subscribe) - {_WILDCARD}
        state.names |= named
        state.owed |= named
        for name in ask.unsubscribe:
            state.names.discard(name)
            state.owed.discard(name)
            if not state.wildcard:
                state.known.pop(name, None)

    @staticmethod
    def _separate(state: _Subscription, pending: Push) -> None:
        state.pending = None
        names = {one.name for one in pending.resources if state.wants(one.name)}
        state.apart |= names
        state.owed |= names & state.names

    @staticmethod
    def _answered(state: _Subscription, pending: Push, *, rejected: bool) -> None:
        state.pending = None
        versions = {one.name: one.version for one in pending.resources if state.wants(one.name)}
        state.apart.difference_update(versions)
        if rejected:
            state.rejected.update(versions)
            return
        state.known.update(versions)
        for name in versions:
            state.rejected.pop(name, None)
        for name in pending.removed:
            state.known.pop(name, None)

    def _updates(self, kinds: tuple[str, ...], now: float) -> Iterator[Push]:
        for kind in kinds:
            state = self._subscriptions.get(kind)
            if state is None or state.pending is not None or self._offered is None:
                continue
            offered = self._wanted(kind)
            changed = state.next_response(offered)
            absent = self._not_withheld(kind, state.never_there(offered))
            if changed or absent or (state.unanswered and not self._offered.withholds_some(kind)):
                yield self._push(kind, state, changed, absent, now)
                if kind == CLUSTERS:
                    self._owe_endpoints(changed)

    def _not_withheld(self, kind: str, names: set[str]) -> tuple[str, ...]:
        snapshot = self._offered
        return tuple(sorted(name for name in names if snapshot and not snapshot.withholds(kind, name)))

    def _owe_endpoints(self, clusters: tuple[Resource, ...]) -> None:
        """Send the endpoints of changed clusters again: Envoy waits for them and does not ask."""
        endpoints = self._of(ENDPOINTS)
        endpoints.owed.update(endpoints.names.intersection(one.name for one in clusters))

    def _removals(self, now: float) -> Iterator[Push]:
        for kind, state in self._subscriptions.items():
            gone = self._not_withheld(kind, state.gone(self._offered.of(kind))) if self._offered else ()
            if gone and state.pending is None:
                yield self._push(kind, state, (), gone, now)

    def _push(
        self,
        kind: str,
        state: _Subscription,
        resources: tuple[Resource, ...],
        removed: tuple[str, ...],
        now: float,
    ) -> Push:
        self._pushes += 1
        state.pending = Push(kind, str(self._pushes), resources, removed, now)
        state.unanswered = False
        state.owed.difference_update(removed, (one.name for one in resources))
        return state.pending

    def _waiting(self, kinds: tuple[str, ...], now: float) -> bool:
        pending = (self._of(kind).pending for kind in kinds)
        return any(one is not None and now < one.sent + ACK_TIMEOUT_SECONDS for one in pending)
