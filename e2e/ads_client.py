"""A client of delta ADS that behaves as an Envoy does, or as a test wants it to: hundreds fit in one process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from envoy.service.discovery.v3 import discovery_pb2

from cacheroute.proxy.snapshot import CLUSTERS, ENDPOINTS, LISTENERS, ROUTES

DELTAS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),  # a connection for each client, as Envoys have
]


def open_deltas(channel: grpc.aio.Channel) -> Any:
    """Open a stream whose messages are bytes."""
    open_call: Any = channel.stream_stream
    return open_call(DELTAS)()


def request(kind: str, node: str, gateway: str, minor: int = 40) -> discovery_pb2.DeltaDiscoveryRequest:
    """Return a first request of Envoy 1.``minor``."""
    made = discovery_pb2.DeltaDiscoveryRequest(type_url=kind, node={"id": node, "cluster": gateway})
    version = made.node.user_agent_build_version.version
    version.major_number, version.minor_number = 1, minor
    return made


@dataclass(slots=True)
class AdsClient:
    """One proxy.

    Attributes:
        channel: to the server.
        node: its id.
        gateway: its cluster.
        rejects: type URL → whether a response of this type is rejected.
        answers: whether it answers at all.
        has: type URL → name → version that it has accepted.
        seen: (type URL, name, version) of everything that it was ever sent.
        on_accept: called with the type URL after each acknowledgement.
    """

    channel: grpc.aio.Channel
    node: str
    gateway: str
    rejects: Callable[[str], bool] = lambda _kind: False
    answers: bool = True
    has: dict[str, dict[str, str]] = field(
        default_factory=lambda: {kind: {} for kind in (CLUSTERS, ENDPOINTS, LISTENERS, ROUTES)}
    )
    seen: set[tuple[str, str, str]] = field(default_factory=set)
    on_accept: Callable[[str], None] = lambda _kind: None
    _asked: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Serve as a proxy until cancelled or until the server ends the stream; grpc.aio.AioRpcError says why."""
        call = open_deltas(self.channel)
        self._asked.clear()
        first = request(CLUSTERS, self.node, self.gateway)
        first.initial_resource_versions.update(self.has[CLUSTERS])
        await call.write(first.SerializeToString())
        await self._ask(call, LISTENERS)
        await self._follow(call, set())
        async for content in call:
            await self._take(call, discovery_pb2.DeltaDiscoveryResponse.FromString(content))

    async def _take(self, call: Any, response: Any) -> None:
        kind = response.type_url
        self.seen.update((kind, one.name, one.version) for one in response.resources)
        if not self.answers:
            return
        answer = discovery_pb2.DeltaDiscoveryRequest(type_url=kind, response_nonce=response.nonce)
        if self.rejects(kind):
            answer.error_detail.message = "the test wants it rejected"
            await call.write(answer.SerializeToString())
            return
        before = set(self.has[CLUSTERS])
        self.has[kind].update({one.name: one.version for one in response.resources})
        for name in response.removed_resources:
            self.has[kind].pop(name, None)
        if kind == CLUSTERS:
            await self._follow(call, before)
        await call.write(answer.SerializeToString())
        if kind == LISTENERS and ROUTES not in self._asked:
            await self._ask(call, ROUTES, "cacheroute")
        self.on_accept(kind)

    async def _follow(self, call: Any, before: set[str]) -> None:
        """Ask for the endpoints of new clusters, and for routes where there is a listener already."""
        if new := set(self.has[CLUSTERS]) - before:
            await self._ask(call, ENDPOINTS, *sorted(new))
        if self.has[LISTENERS] and ROUTES not in self._asked:
            await self._ask(call, ROUTES, "cacheroute")

    async def _ask(self, call: Any, kind: str, *names: str) -> None:
        ask = discovery_pb2.DeltaDiscoveryRequest(type_url=kind, resource_names_subscribe=names)
        if kind not in self._asked:
            ask.initial_resource_versions.update(self.has[kind])
        self._asked.add(kind)
        await call.write(ask.SerializeToString())


@contextlib.asynccontextmanager
async def connected(target: str, node: str, gateway: str, **behaviour: Any) -> AsyncIterator[AdsClient]:
    """Run a client in plain text; what ends its stream is raised to nobody."""
    async with grpc.aio.insecure_channel(target, options=OPTIONS) as channel:
        one = AdsClient(channel, node, gateway, **behaviour)
        task = asyncio.create_task(one.run())
        try:
            yield one
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
