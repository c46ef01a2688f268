"""The ADS server: one stream for each proxy, one snapshot for each gateway, all in one event loop."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import grpc
import structlog

from cacheroute.domain.gateways import GatewayStatus, Rejection
from cacheroute.domain.table import RoutingTable
from cacheroute.proxy.compile import Compilation, bridge, compile_tables
from cacheroute.proxy.doorway import Doorway
from cacheroute.proxy.errors import GatewayError
from cacheroute.proxy.listener import listener
from cacheroute.proxy.names import LISTENER
from cacheroute.proxy.node import ProxyNode, read_node
from cacheroute.proxy.offers import Offers
from cacheroute.proxy.rollout import TRIED
from cacheroute.proxy.session import FIRST_REQUEST_SECONDS, LARGE_AT_ONCE, RefusedError, Session, parsed
from cacheroute.proxy.snapshot import LISTENERS, ROUTES, Resource, Snapshot, resource
from cacheroute.proxy.subscription import Ask
from cacheroute.proxy.tuning import Tuning
from cacheroute.proxy.xds_server_tls import ServerCertificates, XdsServerTls, refusal

MOST_STREAMS = 1000
_SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
_MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""A reconnecting Envoy names every resource that it has, a few for each plan."""
_MAX_NODE_LENGTH = 253
_LISTENERS_KEPT = 64
"""Proxies with the same settings share one; how many settings there are is bounded by nobody."""
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_REQUEST_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_concurrent_streams", 8),  # of one connection; an Envoy has one
    ("grpc.keepalive_time_ms", 30_000),  # a proxy that vanished is forgotten
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.so_reuseport", 0),  # a second server on the same port would take half of the proxies
]

_log = structlog.get_logger(__name__)


class AdsServer:
    """Serves snapshots to Envoys by delta ADS, and knows what they made of them."""

    def __init__(
        self,
        on_change: Callable[[str], None],
        tuning: Tuning | None = None,
        on_refusal: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """Create a server that serves nothing yet.

        Args:
            on_change: called with the gateway's name whenever its ``status`` may have changed.
            tuning: numbers of the compiled configuration.
            on_refusal: called with one word for each stream that the server ends.
        """
        self._on_change = on_change
        self._on_refusal = on_refusal
        self._tuning = tuning or Tuning()
        self._offers: dict[str, Offers] = defaultdict(Offers)
        self._offered: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tables: dict[str, tuple[RoutingTable, ...]] = {}
        self._compiled: dict[str, Compilation] = {}
        self._sessions: set[Session] = set()
        self._streams = self._connections = 0
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._server: grpc.aio.Server | None = None
        self._doorway: Doorway | None = None

    async def start(self, bind: str, tls: XdsServerTls | None = None) -> int:
        """Listen on ``host:port`` (port 0 for any) and return the port; GatewayError where that fails.

        Args:
            bind: the address.
            tls: certificates for mTLS; None for plain text, which lets everybody in.
        """
        self._server = grpc.aio.server(options=_OPTIONS)
        self._server.add_generic_rpc_handlers((_handlers(self._serve_deltas, _refuse_whole_states),))
        try:
            port = self._add_port(self._server, bind, tls)
        except RuntimeError as error:
            raise GatewayError(
                f"xDS: cannot listen on {bind}: choose a free port and an own address"
            ) from error
        await self._server.start()
        return port

    def _add_port(self, server: grpc.aio.Server, bind: str, tls: XdsServerTls | None) -> int:
        if tls is None:
            return server.add_insecure_port(bind)
        self._doorway = Doorway(lambda: self._on_refusal("handshake"))
        return server.add_secure_port(bind, ServerCertificates(tls, self._doorway.begun).credentials())

    async def stop(self) -> None:
        """End all streams; proxies keep what they have."""
        if self._doorway is not None:
            self._doorway.close()
        for timer in self._timers.values():
            timer.cancel()
        if self._server is not None:
            await self._server.stop(grace=None)
            self._server = None

    def publish(self, gateway: str, tables: Sequence[RoutingTable]) -> str:
        """Serve these tables, all plans of the gateway, from now on; returns the snapshot's version."""
        known = tuple(tables)
        offers = self._offers[gateway]
        if self._tables.get(gateway) == known and offers.rollout.target is not None:
            return offers.rollout.target.version
        made = compile_tables(known, self._tuning, self._compiled.get(gateway))
        choices = made.choices
        in_use = frozenset[str]().union(*(one.stream.versions(ROUTES) for one in self._of(gateway)))
        between = bridge(offers.history.former(known, choices, in_use), known)
        for routes in made.snapshot.of(ROUTES).values():
            offers.history.add(routes.version, choices, in_use)
        version = self.publish_snapshot(gateway, made.snapshot, between)
        self._tables[gateway], self._compiled[gateway] = known, made
        return version

    def publish_snapshot(
        self, gateway: str, snapshot: Snapshot, between: Mapping[str, Resource] | None = None
    ) -> str:
        """Serve compiled resources; unchanged ones are not sent again.

        Args:
            gateway: whose proxies.
            snapshot: their resources.
            between: endpoints that connected proxies have while they change routes.
        """
        self._tables.pop(gateway, None)
        self._offers[gateway].published(snapshot, between or {}, self._now())
        self._advance(gateway)
        return snapshot.version

    def status(self, gateway: str) -> GatewayStatus:
        """Return what is known of the gateway's proxies."""
        sessions, offers = list(self._of(gateway)), self._offers.get(gateway)
        parked = offers.parking.rejections if offers else ()
        refused = [_refusal(one.node) for one in sessions if one.node.unsupported]
        own = [one.rejection for one in sessions if one.rejection]
        newest = [one for one in sessions if offers and not offers.rollout.holds(one.id)]
        return GatewayStatus(
            connected=len(sessions),
            synced=0 if parked else sum(one.stream.synced for one in newest),
            rejections=tuple(sorted((*parked, *refused, *own), key=lambda one: one.node)),
            providers=_common_providers([one.node for one in sessions]),
        )

    def gateways(self) -> frozenset[str]:
        """Return the gateways that have connected proxies."""
        return frozenset(one.node.gateway for one in self._sessions)

    def _of(self, gateway: str) -> Iterator[Session]:
        return (one for one in self._sessions if one.node.gateway == gateway)

    def _served(self, gateway: str) -> list[Session]:
        return [one for one in self._of(gateway) if not one.node.unsupported]

    def _advance(self, gateway: str) -> None:
        """Choose the canary or stop waiting for it, and offer all proxies what follows from it."""
        served, rollout = self._served(gateway), self._offers[gateway].rollout
        before = rollout.canary
        rollout.step((one.id for one in served), self._now())
        if rollout.canary != before and len(served) > 1:
            _log.info("canary proxy", gateway=gateway, tries=rollout.canary, before=before)
        if rollout.revision != self._offered.get(gateway):
            self._offered[gateway] = rollout.revision
            for one in served:
                self._offer(one)
        self._wake_at(gateway, rollout.deadline)

    def _wake_at(self, gateway: str, deadline: float | None) -> None:
        timer = self._timers.pop(gateway, None)
        if timer is not None:
            timer.cancel()
        if deadline is not None:
            self._timers[gateway] = asyncio.get_running_loop().call_at(deadline, self._too_slow, gateway)

    def _too_slow(self, gateway: str) -> None:
        _log.warning("canary proxy too slow", gateway=gateway, node=self._offers[gateway].rollout.canary)
        self._advance(gateway)
        self._on_change(gateway)

    def _offer(self, session: Session, *, fresh: bool = False) -> None:
        offer = self._offers[session.node.gateway].of(session.id)
        if offer is None or session.node.unsupported:
            return
        resources = {**offer.snapshot.resources, LISTENERS: {LISTENER: self._listener(session.node)}}
        whole = Snapshot(offer.snapshot.version, resources, offer.snapshot.withheld)
        session.stream.offer(whole, {} if fresh else offer.between)
        session.changed.set()

    def _listener(self, node: ProxyNode) -> Resource:
        return _compiled_listener(replace(node, name="", gateway=""), self._tuning)

    async def _serve_deltas(self, requests: AsyncIterator[bytes], context: Any) -> None:
        """Serve one proxy until it goes or is refused."""
        self._streams += 1
        try:
            await self._serve(requests, context)
        except RefusedError as refused:
            self._on_refusal(refused.reason)
            _log.warning("proxy refused", peer=context.peer(), why=refused.why)
            await context.abort(refused.code, refused.why)
        finally:
            self._streams -= 1

    async def _serve(self, requests: AsyncIterator[bytes], context: Any) -> None:
        if self._doorway is not None:
            self._doorway.passed(context.peer())
        if self._streams > MOST_STREAMS:
            why = f"more than {MOST_STREAMS} proxies are connected"
            raise RefusedError("limit", grpc.StatusCode.RESOURCE_EXHAUSTED, why)
        first = await _first(requests)
        if first is None:
            return
        self._check_identity(first.node, context)
        self._connections += 1
        node = read_node(first.node)
        session = Session(node, (node.name, self._connections), self._large)
        await self._admit(session, first, requests, context)

    async def _admit(self, one: Session, first: Any, requests: AsyncIterator[bytes], context: Any) -> None:
        self._sessions.add(one)
        try:
            self._greet(one)
            await one.run(first, requests, lambda ask: self._hear(one, ask), context)
        finally:
            self._sessions.discard(one)
            _log.info("proxy disconnected", node=one.node.name, gateway=one.node.gateway)
            self._advance(one.node.gateway)
            self._on_change(one.node.gateway)

    def _check_identity(self, node: Any, context: Any) -> None:
        """Refuse a peer without sensible names, or whose certificate is not for the gateway that it claims."""
        if max(len(node.id), len(node.cluster)) > _MAX_NODE_LENGTH:
            why = f"its node id or cluster has more than {_MAX_NODE_LENGTH} characters"
            raise RefusedError("garbage", grpc.StatusCode.INVALID_ARGUMENT, why)
        if not (node.id.isprintable() and node.cluster.isprintable()):
            why = "its node id or cluster has characters that cannot be shown"
            raise RefusedError("garbage", grpc.StatusCode.INVALID_ARGUMENT, why)
        if self._doorway is not None and (why := refusal(context.auth_context(), node.cluster)):
            raise RefusedError("identity", grpc.StatusCode.PERMISSION_DENIED, why)

    def _greet(self, session: Session) -> None:
        node = session.node
        _log.info(
            "proxy connected", node=node.name, gateway=node.gateway, envoy="{}.{}".format(*node.version)
        )
        if node.unsupported:
            _log.warning("proxy refused", node=node.name, gateway=node.gateway, why=node.unsupported)
        self._advance(node.gateway)
        self._offer(session, fresh=True)
        self._on_change(node.gateway)

    def _hear(self, session: Session, ask: Ask) -> None:
        answered = session.stream.ask(ask)
        if answered and ask.error:
            self._park(session, ask, answered)
        elif not ask.error:
            self._note(session, ask, answered)
        session.changed.set()
        if ask.nonce:
            self._on_change(session.node.gateway)

    def _note(self, session: Session, ask: Ask, answered: tuple[Resource, ...]) -> None:
        offers = self._offers[session.node.gateway]
        if ask.type_url != LISTENERS:
            offers.parking.accepted(ask.type_url, answered)
        elif answered:
            session.rejection = None
        target = offers.rollout.target
        if target is not None and not offers.rollout.proven and session.stream.has(target, TRIED):
            offers.rollout.accepted()
            self._advance(session.node.gateway)

    def _park(self, session: Session, ask: Ask, rejected: tuple[Resource, ...]) -> None:
        """Serve nobody what one proxy rejected, but for its own listener; who has a good version keeps it."""
        node = session.node
        _log.warning("proxy rejected a resource", node=node.name, type=ask.type_url, why=ask.error)
        why = Rejection(node.name, "Rejected", ask.error)
        if ask.type_url == LISTENERS:
            session.rejection = why
            return
        self._offers[node.gateway].rejected(ask.type_url, rejected, why)
        self._advance(node.gateway)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


@lru_cache(maxsize=_LISTENERS_KEPT)
def _compiled_listener(node: ProxyNode, tuning: Tuning) -> Resource:
    return resource(LISTENER, listener(node, tuning))


def _common_providers(nodes: Sequence[ProxyNode]) -> frozenset[str]:
    """Return the names of the token providers that every proxy has."""
    names = [frozenset(one.name for one in node.settings.jwt) for node in nodes]
    return frozenset.intersection(*names) if names else frozenset()


def _refusal(node: ProxyNode) -> Rejection:
    reason = "InvalidSettings" if node.problem else "UnsupportedVersion"
    return Rejection(node.name, reason, node.unsupported)


async def _first(requests: AsyncIterator[bytes]) -> Any:
    """Return the first request, or None where the stream ends before it; RefusedError where it does not come."""
    try:
        content = await asyncio.wait_for(anext(aiter(requests), None), FIRST_REQUEST_SECONDS)
    except TimeoutError as error:
        why = f"it asked nothing for {FIRST_REQUEST_SECONDS:.0f} s"
        raise RefusedError("silent", grpc.StatusCode.DEADLINE_EXCEEDED, why) from error
    return None if content is None else parsed(content)


async def _refuse_whole_states(_requests: AsyncIterator[Any], context: Any) -> None:
    why = "only delta xDS is served: set api_type DELTA_GRPC in the bootstrap's ads_config"
    _log.warning("proxy refused", peer=context.peer(), why=why)
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, why)


def _handlers(deltas: Callable[..., Any], whole_states: Callable[..., Any]) -> Any:
    """Return handlers whose messages are bytes: who sends garbage is told so, and nothing is raised."""
    return grpc.method_handlers_generic_handler(
        _SERVICE,
        {
            "DeltaAggregatedResources": grpc.stream_stream_rpc_method_handler(deltas),
            "StreamAggregatedResources": grpc.stream_stream_rpc_method_handler(whole_states),
        },
    )
