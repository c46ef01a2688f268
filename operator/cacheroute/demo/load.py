"""An open-loop load: streamed chat completions through the gateway, sent on schedule whatever became of the others."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
import orjson

from cacheroute.demo.tally import Fate, Record
from cacheroute.demo.workload import Arrivals, Prompts

TIMEOUT_SECONDS = 60.0
TENANT_HEADER = "x-tenant-id"
_DATA = b"data: "
_DONE = b"[DONE]"


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


@dataclass(slots=True)
class _Progress:
    """What is known of a request while it runs."""

    destination: str = ""
    decision: str = ""
    first_token: float = math.nan
    prompt_tokens: int = 0
    cached_tokens: int = 0
    finished: bool = False
    buffer: bytearray = field(default_factory=bytearray)


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
                for at, tenant in zip(schedule.seconds.tolist(), schedule.tenant.tolist(), strict=True):
                    delay = start + at - time.perf_counter()
                    if delay > 0:
                        await asyncio.sleep(delay)
                    self._sent += 1
                    body = self._body(tenant, self._sent)
                    tasks.create_task(self._request(session, (phase, at, start), tenant, body))

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

    async def _request(
        self, session: aiohttp.ClientSession, when: tuple[str, float, float], tenant: int, body: bytes
    ) -> None:
        phase, at, start = when
        began = time.perf_counter()
        progress = _Progress()
        complaint = ""
        headers = {"content-type": "application/json", TENANT_HEADER: f"tenant-{tenant:04d}"}
        try:
            url = f"{self._target.url}/v1/chat/completions"
            async with session.post(url, data=body, headers=headers) as answer:
                complaint = await self._read(answer, progress, began)
        except (aiohttp.ClientError, TimeoutError) as error:
            complaint = f"{type(error).__name__}: {error}"
        self._take(
            Record(
                phase=phase,
                sent=at,
                fate=self._fate(progress, complaint),
                destination=progress.destination,
                decision=progress.decision,
                first_token=progress.first_token,
                prompt_tokens=progress.prompt_tokens,
                cached_tokens=progress.cached_tokens,
                lag=began - start - at,
                complaint=complaint,
            )
        )

    async def _read(self, answer: aiohttp.ClientResponse, progress: _Progress, began: float) -> str:
        """Follow the stream; returns why it is no good, or nothing."""
        progress.destination = answer.headers.get("x-cacheroute-destination", "")
        progress.decision = answer.headers.get("x-cacheroute-decision", "")
        if answer.status != 200:  # noqa: PLR2004 - HTTP 200
            return f"HTTP {answer.status}: {(await answer.text())[:200]}"
        async for chunk in answer.content.iter_any():
            progress.buffer += chunk
            _consume(progress, began)
        return "" if progress.finished else "the stream ended before it was done"

    def _fate(self, progress: _Progress, complaint: str) -> Fate:
        if not complaint:
            return Fate.ANSWERED
        return Fate.CUT if progress.destination in self.killed else Fate.FAILED


def _consume(progress: _Progress, began: float) -> None:
    """Take every whole line of the buffer (server-sent events, one data line each)."""
    *lines, rest = bytes(progress.buffer).split(b"\n")
    progress.buffer = bytearray(rest)
    for line in lines:
        if not line.startswith(_DATA):
            continue
        data = line[len(_DATA) :].strip()
        if data == _DONE:
            progress.finished = True
        elif math.isnan(progress.first_token) and b'"content"' in data:
            progress.first_token = time.perf_counter() - began
        elif b'"usage":{' in data:
            usage = orjson.loads(data)["usage"]
            progress.prompt_tokens = usage["prompt_tokens"]
            progress.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
