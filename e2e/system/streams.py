"""Streamed answers in an open loop: each is read to its end, and one that is cut or aborted is a failure."""

import json
import time
from dataclasses import dataclass

import aiohttp
import numpy as np

from e2e.system.load import OpenLoop
from e2e.system.manifests import MODEL
from e2e.system.traffic import PREFIX_CHARACTERS, TENANTS

TIMEOUT_SECONDS = 60
MAX_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Stream:
    """One streamed answer; moments are time.monotonic().

    Attributes:
        sent: when it was asked for.
        answered: when the answer began, 0 where it never did.
        ended: when it was over.
        tenant: its key.
        destination: x-cacheroute-destination.
        decision: x-cacheroute-decision.
        version: x-cacheroute-plan.
        complaint: why it failed, empty where it did not.
    """

    sent: float
    answered: float
    ended: float
    tenant: str
    destination: str
    decision: str
    version: str
    complaint: str


class Streams(OpenLoop):
    """Streams of many tenants at a steady rate; clients keep their connections, as an OpenAI client does."""

    def __init__(self, url: str, rate: float) -> None:
        super().__init__(rate, TIMEOUT_SECONDS)
        self.done: list[Stream] = []
        self.running_now = 0
        self._url = url
        self._random = np.random.default_rng(7)

    @property
    def failed(self) -> list[Stream]:
        """The streams that failed."""
        return [one for one in list(self.done) if one.complaint]

    def since(self, moment: float) -> list[Stream]:
        """Return the streams that were asked for after ``moment``."""
        return [one for one in list(self.done) if one.sent >= moment]

    async def request(self, session: aiohttp.ClientSession) -> None:
        """Ask for one stream and read it."""
        key = f"tenant-{self._random.integers(TENANTS):02d}"
        prompt = f"{key} ".ljust(PREFIX_CHARACTERS, "x") + f"{self._random.integers(1 << 40):040d}"
        body = {"model": MODEL, "user": key, "prompt": prompt, "max_tokens": MAX_TOKENS, "ignore_eos": True}
        sent, answered, complaint, seen = time.monotonic(), 0.0, "", {}
        self.running_now += 1
        try:
            async with session.post(f"{self._url}/v1/completions", json=body | {"stream": True}) as answer:
                answered, seen = time.monotonic(), dict(answer.headers)
                complaint = _judge(answer.status, await answer.text())
        except (aiohttp.ClientError, TimeoutError) as error:
            complaint = f"{type(error).__name__}: {error}"
        self.running_now -= 1
        self.done.append(
            Stream(
                sent=sent,
                answered=answered,
                ended=time.monotonic(),
                tenant=key,
                destination=seen.get("x-cacheroute-destination", ""),
                decision=seen.get("x-cacheroute-decision", ""),
                version=seen.get("x-cacheroute-plan", ""),
                complaint=complaint,
            )
        )


def _judge(status: int, text: str) -> str:
    """Return what is wrong with an answer, empty where it is whole."""
    if status != 200:
        return f"HTTP {status}: {text[:200]}"
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    if not events or events[-1] != "[DONE]":
        return f"cut after {len(events)} events"
    choices = [choice for one in events[:-1] for choice in json.loads(one).get("choices", ())]
    reasons = [choice["finish_reason"] for choice in choices]
    return "" if reasons and reasons[-1] == "length" else f"ended as {reasons[-1:]}"
