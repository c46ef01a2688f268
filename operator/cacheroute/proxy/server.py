"""The ADS server: one stream for each proxy, one snapshot for each gateway, all in one event loop."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog
from envoy.service.discovery.v3 import discovery_pb2

from cacheroute.domain.gateways import GatewayStatus, Rejection
from cacheroute.domain.table import RoutingTable
from cacheroute.proxy.doorway import Doorway
from cacheroute.proxy.errors import GatewayError
from cacheroute.proxy.listener import listener
from cacheroute.proxy.names import LISTENER
from cacheroute.proxy.node import ProxyNode, read_node
from cacheroute.proxy.parking import Parking
from cacheroute.proxy.snapshot import LISTENERS, Resource, Snapshot, bridge, compile_tables, resource
from cacheroute.proxy.subscription import Ask, Push, Stream
from cacheroute.proxy.tuning import Tuning
from cacheroute.proxy.xds_server_tls import ServerCertificates, XdsServerTls, refusal

_SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
_MAX_REQUEST_BYTES = 64 * 1024 * 1024
"""A reconnecting Envoy names every resource that it has."""
_MAX_MESSAGE = 300
_VARINT_BASE = 128
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_REQUEST_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),  # a second server on the same port would take half of the proxies
]

_log = structlog.get_logger(__name__)


@dataclass(eq=False, slots=True)
class _Proxy:
    """A connected proxy and what wakes its sender."""

    node: ProxyNode
    stream: Stream
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class AdsServer:
    """Serves snapshots to Envoys by delta ADS, and knows what they made of them."""

    def __init__(self, on_change: Callable[[str], None], tuning: Tuning | None = None) -> None:
        """Create a server that serves nothing yet.

        Args:
            on_change: called with the gateway's name whenever its ``status`` may have changed.
            tuning: numbers of the compiled configuration.
        """
        self._on_change = on_change
        self._tuning = tuning or Tuning()
        self._snapshots: dict[str, Snapshot] = {}
        self._parking: dict[str, Parking] = defaultdict(Parking)
        self._tables: dict[str, tuple[RoutingTable, ...]] = {}
        self._listeners: dict[tuple[str, int, bool], Resource] = {}
        self._proxies: set[_Proxy] = set()
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
        self._doorway = Doorway()
        return server.add_secure_port(bind, ServerCertificates(tls, self._doorway.begun).credentials())

    async def stop(self) -> None:
        """End all streams; proxies keep what they have."""
        if self._doorway is not None:
            self._doorway.close()
        if self._server is not None:
            await self._server.stop(grace=None)
            self._server = None

    def publish(self, gateway: str, tables: Sequence[RoutingTable]) -> str:
        """Serve these tables, all plans of the gateway, from now on; returns the snapshot's version."""
        known = tuple(tables)
        before = self._tables.get(gateway, ())
        if gateway in self._tables and before == known:
            return self._snapshots[gateway].version
        self._tables[gateway] = known
        return self.publish_snapshot(gateway, compile_tables(known, self._tuning), bridge(before, known))

    def publish_snapshot(
        self, gateway: str, snapshot: Snapshot, between: Mapping[str, Resource] | None = None
    ) -> str:
        """Serve compiled resources; unchanged ones are not sent again.

        Args:
            gateway: whose proxies.
            snapshot: their resources.
            between: endpoints that connected proxies have while they change routes.
        """
        self._snapshots[gateway] = snapshot
        self._parking[gateway].published(snapshot)
        for proxy in self._of(gateway):
            self._offer(proxy, between)
        return snapshot.version

    def status(self, gateway: str) -> GatewayStatus:
        """Return what is known of the gateway's proxies."""
        proxies = self._of(gateway)
        parked = self._parking[gateway].rejections if gateway in self._parking else ()
        refused = [_refusal(proxy.node) for proxy in proxies if proxy.node.unsupported]
        return GatewayStatus(
            connected=len(proxies),
            synced=0 if parked else sum(proxy.stream.synced for proxy in proxies),
            rejections=tuple(sorted((*parked, *refused), key=lambda one: one.node)),
        )

    def gateways(self) -> frozenset[str]:
        """Return the gateways that have connected proxies."""
        return frozenset(proxy.node.gateway for proxy in self._proxies)

    def _of(self, gateway: str) -> list[_Proxy]:
        return [proxy for proxy in self._proxies if proxy.node.gateway == gateway]

    def _offer(self, proxy: _Proxy, between: Mapping[str, Resource] | None = None) -> None:
        snapshot = self._snapshots.get(proxy.node.gateway)
        if snapshot is None or proxy.node.unsupported:
            return
        own = {LISTENER: self._listener(proxy.node)}
        whole = Snapshot(snapshot.version, {**snapshot.resources, LISTENERS: own})
        proxy.stream.offer(self._parking[proxy.node.gateway].offered(whole), between)
        proxy.changed.set()

    def _listener(self, node: ProxyNode) -> Resource:
        place = (node.address, node.port, node.bounds_counters)
        if place not in self._listeners:
            self._listeners[place] = resource(LISTENER, listener(node, self._tuning))
        return self._listeners[place]

    async def _serve_deltas(self, requests: AsyncIterator[Any], context: Any) -> None:
        """Serve one proxy until it goes."""
        first = await anext(aiter(requests), None)
        if first is None:
            return
        await self._check_identity(first.node.cluster, context)
        proxy = _Proxy(read_node(first.node), Stream())
        self._proxies.add(proxy)
        reader = asyncio.create_task(self._read(proxy, first, requests))
        try:
            self._greet(proxy)
            await self._write(proxy, reader, context)
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
            self._proxies.discard(proxy)
            _log.info("proxy disconnected", node=proxy.node.name, gateway=proxy.node.gateway)
            self._on_change(proxy.node.gateway)

    async def _check_identity(self, gateway: str, context: Any) -> None:
        """End the call of a peer whose certificate is not for the gateway that it claims."""
        if self._doorway is None:
            return
        self._doorway.passed(context.peer())
        if why := refusal(context.auth_context(), gateway):
            _log.warning("proxy refused", peer=context.peer(), gateway=gateway[:64], why=why)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, why)

    def _greet(self, proxy: _Proxy) -> None:
        node = proxy.node
        _log.info(
            "proxy connected", node=node.name, gateway=node.gateway, envoy="{}.{}".format(*node.version)
        )
        if node.unsupported:
            _log.warning("proxy refused", node=node.name, gateway=node.gateway, why=node.unsupported)
        self._offer(proxy)
        self._on_change(node.gateway)

    async def _read(self, proxy: _Proxy, first: Any, requests: AsyncIterator[Any]) -> None:
        self._hear(proxy, first)
        async for request in requests:
            self._hear(proxy, request)

    def _hear(self, proxy: _Proxy, request: Any) -> None:
        ask = _ask(request)
        answered = proxy.stream.ask(ask)
        if ask.error:
            self._park(proxy, ask, answered)
        elif ask.type_url != LISTENERS:  # a listener is that of one proxy
            self._parking[proxy.node.gateway].accepted(ask.type_url, answered)
        proxy.changed.set()
        if ask.nonce:
            self._on_change(proxy.node.gateway)

    def _park(self, proxy: _Proxy, ask: Ask, rejected: tuple[Resource, ...]) -> None:
        """Serve nobody what one proxy rejected; those who have a good version keep it."""
        node = proxy.node
        _log.warning("proxy rejected a resource", node=node.name, type=ask.type_url, why=ask.error)
        self._parking[node.gateway].rejected(
            ask.type_url, rejected, Rejection(node.name, "Rejected", ask.error)
        )
        for other in self._of(node.gateway):
            self._offer(other)

    async def _write(self, proxy: _Proxy, reader: "asyncio.Task[None]", context: Any) -> None:
        """Send what the stream wants sent, until the proxy stops reading or asking."""
        clock = asyncio.get_running_loop().time
        reader.add_done_callback(lambda _: proxy.changed.set())
        while not reader.done():
            proxy.changed.clear()
            for push in proxy.stream.poll(clock()):
                await context.write(_response(push))
            deadline = proxy.stream.deadline(clock())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await proxy.changed.wait()


def _refusal(node: ProxyNode) -> Rejection:
    return Rejection(node.name, "UnsupportedVersion", node.unsupported)


def _ask(request: Any) -> Ask:
    return Ask(
        type_url=request.type_url,
        subscribe=tuple(request.resource_names_subscribe),
        unsubscribe=tuple(request.resource_names_unsubscribe),
        initial_versions=dict(request.initial_resource_versions),
        nonce=request.response_nonce,
        error=_short(request.error_detail.message or "no reason given")
        if request.HasField("error_detail")
        else "",
    )


def _short(message: str) -> str:
    """Return one line: Envoy quotes the whole rejected resource."""
    line = " ".join(message[: 2 * _MAX_MESSAGE].split())
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…"


def _response(push: Push) -> bytes:
    """Serialise a response around resources that already are serialised: joined messages are merged messages."""
    envelope = discovery_pb2.DeltaDiscoveryResponse(
        type_url=push.type_url, nonce=push.nonce, removed_resources=push.removed
    )
    return b"".join((envelope.SerializeToString(), *map(_resource_field, push.resources)))


def _resource_field(one: Resource) -> bytes:
    tag = discovery_pb2.DeltaDiscoveryResponse.RESOURCES_FIELD_NUMBER << 3 | 2
    return bytes((tag,)) + _varint(len(one.frame)) + one.frame


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= _VARINT_BASE:
        out.append(value % _VARINT_BASE | _VARINT_BASE)
        value //= _VARINT_BASE
    return bytes((*out, value))


async def _refuse_whole_states(_requests: AsyncIterator[Any], context: Any) -> None:
    why = "only delta xDS is served: set api_type DELTA_GRPC in the bootstrap's ads_config"
    _log.warning("proxy refused", peer=context.peer(), why=why)
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, why)


def _handlers(deltas: Callable[..., Any], whole_states: Callable[..., Any]) -> Any:
    return grpc.method_handlers_generic_handler(
        _SERVICE,
        {
            "DeltaAggregatedResources": grpc.stream_stream_rpc_method_handler(
                deltas, request_deserializer=discovery_pb2.DeltaDiscoveryRequest.FromString
            ),
            "StreamAggregatedResources": grpc.stream_stream_rpc_method_handler(whole_states),
        },
    )
