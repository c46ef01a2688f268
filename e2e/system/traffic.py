"""An open-loop load on the gateway in a thread of its own; every answer is kept."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp
import numpy as np

from e2e.system.manifests import MODEL

TIMEOUT_SECONDS = 20
PREFIX_CHARACTERS = 2000
TENANTS = 40


@dataclass(frozen=True, slots=True)
class Answer:
    """One request: what was asked and who answered.

    Attributes:
        sent: time.monotonic() when it was sent.
        tenant: its key.
        status: HTTP status, 0 where there was none.
        destination: x-cacheroute-destination.
        decision: x-cacheroute-decision.
        version: x-cacheroute-plan.
        complaint: why it failed, empty where it did not.
    """

    sent: float
    tenant: str
    status: int
    destination: str
    decision: str
    version: str
    complaint: str


class Traffic:
    """Requests of many tenants at a steady rate; the first tenants are the busiest."""

    def __init__(self, url: str, rate: float) -> None:
        self.answers: list[Answer] = []
        self._url, self._rate = url, rate
        self._stop = threading.Event()
        self._random = np.random.default_rng(5)
        weights = 1.0 / (3 + np.arange(TENANTS))
        self._share = weights / weights.sum()

    @property
    def failed(self) -> list[Answer]:
        """The requests that failed."""
        return [one for one in list(self.answers) if one.complaint]

    def since(self, moment: float) -> list[Answer]:
        """Return the answers to requests that were sent after ``moment``."""
        return [one for one in list(self.answers) if one.sent >= moment]

    @contextmanager
    def running(self) -> Iterator["Traffic"]:
        """Send while the block runs; its thread has the network of the one that starts it."""
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="traffic")
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join(timeout=TIMEOUT_SECONDS + 5)

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session,
            asyncio.TaskGroup() as tasks,
        ):
            due = time.monotonic()
            while not self._stop.is_set():
                due += float(self._random.exponential(1 / self._rate))
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                tasks.create_task(self._request(session, int(self._random.choice(TENANTS, p=self._share))))

    async def _request(self, session: aiohttp.ClientSession, tenant: int) -> None:
        key = f"tenant-{tenant:02d}"
        prompt = f"{key} ".ljust(PREFIX_CHARACTERS, "x") + f"{self._random.integers(1 << 40):040d}"
        body = {"model": MODEL, "prompt": prompt, "max_tokens": 4, "ignore_eos": True}
        headers = {"x-tenant-id": key} if tenant % 2 else {}
        sent, seen, complaint = time.monotonic(), {}, ""
        status = 0
        try:
            async with session.post(
                f"{self._url}/v1/completions", json=body | {"user": key}, headers=headers
            ) as answer:
                status, seen = answer.status, dict(answer.headers)
                text = await answer.text()
                complaint = "" if status == 200 else f"HTTP {status}: {text[:200]}"
        except (aiohttp.ClientError, TimeoutError) as error:
            complaint = f"{type(error).__name__}: {error}"
        self.answers.append(
            Answer(
                sent=sent,
                tenant=key,
                status=status,
                destination=seen.get("x-cacheroute-destination", ""),
                decision=seen.get("x-cacheroute-decision", ""),
                version=seen.get("x-cacheroute-plan", ""),
                complaint=complaint,
            )
        )
