"""An open-loop load: streamed chat completions through the gateway, sent on schedule whatever became of the others."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
import orjson

from cacheroute.demo.stream import Stream
from cacheroute.demo.tally import Record
from cacheroute.demo.workload import Arrivals, Prompts

TIMEOUT_SECONDS = 60.0
TENANT_HEADER = "x-tenant-id"
EXCERPT = 200
"""Characters of an error answer that are kept."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go and what they ask for.

    Attributes:
        url: base URL of the gateway.
        model: name of the model.
        answer: tokens to generate.
    """

    url: str
    model: str
    answer: int


@dataclass(frozen=True, slots=True)
class _Sending:
    """A request about to be sent: its phase, when it is due (from the start of the phase) and on the clock, seconds."""

    phase: str
    due: float
    due_on_clock: float
    tenant: int
    number: int


class Load:
    """Sends requests and hands a record of each to ``take``."""

    def __init__(self, target: Target, prompts: Prompts, take: Callable[[Record], None]) -> None:
        self._target, self._prompts, self._take = target, prompts, take
        self._sent = 0
        self.killed: set[str] = set()
        """Destinations that were killed on purpose: only streams that they had begun may be cut."""

    async def run(self, phase: str, schedule: Arrivals) -> None:
        """Send a phase's requests and wait for the last answer."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            start = time.perf_counter()
            async with asyncio.TaskGroup() as tasks:
                for due, tenant in zip(schedule.seconds.tolist(), schedule.tenant.tolist(), strict=True):
                    await asyncio.sleep(start + due - time.perf_counter())
                    self._sent += 1
                    sending = _Sending(phase, due, start + due, tenant, self._sent)
                    tasks.create_task(self._request(session, sending))

    async def _request(self, session: aiohttp.ClientSession, sending: _Sending) -> None:
        body = self._body(sending.tenant, sending.number)
        headers = {"content-type": "application/json", TENANT_HEADER: tenant_name(sending.tenant)}
        stream, began = Stream(), time.perf_counter()
        try:
            url = f"{self._target.url}/v1/chat/completions"
            async with session.post(url, data=body, headers=headers) as answer:
                complaint = await self._read(answer, stream, began)
        except (aiohttp.ClientError, OSError, orjson.JSONDecodeError) as error:
            complaint = f"{type(error).__name__}: {error}"
        self._take(
            Record(
                phase=sending.phase,
                sent=sending.due,
                tenant=sending.tenant,
                fate=stream.fate(complaint, self.killed),
                destination=stream.destination,
                decision=stream.decision,
                first_token=stream.first_token,
                prompt_tokens=stream.prompt_tokens,
                cached_tokens=stream.cached_tokens,
                lag=began - sending.due_on_clock,
                complaint=complaint,
            )
        )

    async def _read(self, answer: aiohttp.ClientResponse, stream: Stream, began: float) -> str:
        """Follow the stream; returns why it is no good, or nothing."""
        stream.head(answer.status, answer.headers)
        if not stream.is_stream:
            return f"{stream.complaint(self._target.answer)}: {(await answer.text())[:EXCERPT]}"
        async for data in answer.content.iter_any():
            stream.feed(data, time.perf_counter() - began)
        return stream.complaint(self._target.answer)

    def _body(self, tenant: int, number: int) -> bytes:
        return orjson.dumps(
            {
                "model": self._target.model,
                "messages": [{"role": "user", "content": self._prompts.prompt(tenant, number)}],
                "max_tokens": self._target.answer,
                "ignore_eos": True,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        )


def tenant_name(tenant: int) -> str:
    """Return the routing key of a tenant."""
    return f"tenant-{tenant:04d}"
