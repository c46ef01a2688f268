"""An open-loop load on the gateway of short requests; every answer is kept."""

import time
from dataclasses import dataclass

import aiohttp
import numpy as np

from e2e.system.load import OpenLoop
from e2e.system.manifests import MODEL

TIMEOUT_SECONDS = 20
PREFIX_CHARACTERS = 2000
TENANTS = 40


@dataclass(frozen=True, slots=True)
class Answer:
    """One request: what was asked and who answered.

    Attributes:
        sent: time.monotonic() when it was sent.
        answered: when the answer began or the request failed.
        tenant: its key.
        status: HTTP status, 0 where there was none.
        destination: x-cacheroute-destination.
        decision: x-cacheroute-decision.
        version: x-cacheroute-plan.
        complaint: why it failed, empty where it did not.
    """

    sent: float
    answered: float
    tenant: str
    status: int
    destination: str
    decision: str
    version: str
    complaint: str


class Traffic(OpenLoop):
    """Requests of many tenants at a steady rate; the first tenants are the busiest."""

    def __init__(self, url: str, rate: float) -> None:
        super().__init__(rate, TIMEOUT_SECONDS)
        self.answers: list[Answer] = []
        self._url = url
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

    async def request(self, session: aiohttp.ClientSession) -> None:
        """Send one request and keep its answer."""
        await self._request(session, int(self._random.choice(TENANTS, p=self._share)))

    async def _request(self, session: aiohttp.ClientSession, tenant: int) -> None:
        key = f"tenant-{tenant:02d}"
        prompt = f"{key} ".ljust(PREFIX_CHARACTERS, "x") + f"{self._random.integers(1 << 40):040d}"
        body = {"model": MODEL, "prompt": prompt, "max_tokens": 4, "ignore_eos": True}
        headers = {"x-tenant-id": key} if tenant % 2 else {}
        sent, seen, complaint = time.monotonic(), {}, ""
        status, answered = 0, 0.0
        try:
            async with session.post(
                f"{self._url}/v1/completions", json=body | {"user": key}, headers=headers
            ) as answer:
                status, seen, answered = answer.status, dict(answer.headers), time.monotonic()
                text = await answer.text()
                complaint = "" if status == 200 else f"HTTP {status}: {text[:200]}"
        except (aiohttp.ClientError, TimeoutError) as error:
            complaint = f"{type(error).__name__}: {error}"
        self.answers.append(
            Answer(
                sent=sent,
                answered=answered or time.monotonic(),
                tenant=key,
                status=status,
                destination=seen.get("x-cacheroute-destination", ""),
                decision=seen.get("x-cacheroute-decision", ""),
                version=seen.get("x-cacheroute-plan", ""),
                complaint=complaint,
            )
        )
