"""One proxy's stream: reads what it asks, writes what it is owed, and ends when it does not do its part."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc

from cacheroute.domain.gateways import Rejection
from cacheroute.proxy import wire
from cacheroute.proxy.node import ProxyNode
from cacheroute.proxy.rollout import ProxyId
from cacheroute.proxy.subscription import STUCK_SECONDS, Ask, Push, Stream, SubscriptionError

FIRST_REQUEST_SECONDS = 10.0
LARGE_BYTES = 64 * 1024
LARGE_AT_ONCE = 8
"""Large responses that are copied and sent at the same time; each takes twice its size while it is."""
LARGE_SECONDS = 1.0
"""A proxy that takes longer to read a large response no longer makes others wait."""


class RefusedError(Exception):
    """A stream that is ended by us.

    Attributes:
        reason: one word for the metric.
        code: for the peer.
        why: one line for the peer and the log.
    """

    def __init__(self, reason: str, code: grpc.StatusCode, why: str) -> None:
        super().__init__(why)
        self.reason, self.code, self.why = reason, code, why


@dataclass(eq=False, slots=True)
class Session:
    """A connected proxy.

    Attributes:
        node: what it says of itself.
        id: its name and the number of its connection.
        large: shared by all sessions, see LARGE_AT_ONCE.
        stream: what it has and is owed.
        changed: wakes its sender.
        rejection: of its own listener, which depends on its settings; None where it has not rejected it.
    """

    node: ProxyNode
    id: ProxyId
    large: asyncio.Semaphore
    stream: Stream = field(default_factory=Stream)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    rejection: Rejection | None = None

    async def run(
        self, first: Any, requests: AsyncIterator[bytes], hear: Callable[[Ask], None], context: Any
    ) -> None:
        """Serve until the proxy goes.

        Args:
            first: its first request.
            requests: the others, serialised.
            hear: called with each of them.
            context: of the gRPC call.

        Raises:
            RefusedError: it asks for what no Envoy asks for, or does not answer.
        """
        parts = {
            asyncio.create_task(self._read(first, requests, hear)),
            asyncio.create_task(self._write(context)),
        }
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            for one in parts:
                one.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def _read(self, first: Any, requests: AsyncIterator[bytes], hear: Callable[[Ask], None]) -> None:
        try:
            hear(wire.ask(first))
            async for content in requests:
                hear(wire.ask(parsed(content)))
        except SubscriptionError as error:
            code = grpc.StatusCode.RESOURCE_EXHAUSTED
            raise RefusedError("subscriptions", code, f"it asks for {error}") from error

    async def _write(self, context: Any) -> None:
        """Send what the stream wants sent, until it is cancelled or the proxy stops reading."""
        clock = asyncio.get_running_loop().time
        while True:
            self.changed.clear()
            for push in self.stream.poll(clock()):
                await self._send(push, context)
            if self.stream.stuck(clock()):
                raise _stuck()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self.stream.deadline(clock())):
                    await self.changed.wait()

    async def _send(self, push: Push, context: Any) -> None:
        if sum(len(one.frame) for one in push.resources) < LARGE_BYTES:
            await _written(context.write(wire.response(push)), STUCK_SECONDS)
            return
        async with self.large:
            writing = asyncio.ensure_future(context.write(wire.response(push)))
            await asyncio.wait({writing}, timeout=LARGE_SECONDS)
        await _written(writing, STUCK_SECONDS - LARGE_SECONDS)


def parsed(content: bytes) -> Any:
    """Read a request; RefusedError where it is none."""
    message = wire.request(content)
    if message is None:
        raise RefusedError(
            "garbage", grpc.StatusCode.INVALID_ARGUMENT, "its request is no DeltaDiscoveryRequest"
        )
    return message


async def _written(writing: Any, seconds: float) -> None:
    try:
        await asyncio.wait_for(writing, seconds)
    except TimeoutError as error:
        raise _stuck() from error


def _stuck() -> RefusedError:
    why = f"it has not read or answered a response for {STUCK_SECONDS:.0f} s: it should connect anew"
    return RefusedError("stuck", grpc.StatusCode.DEADLINE_EXCEEDED, why)
