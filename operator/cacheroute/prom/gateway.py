"""Rates from the gateways' own counters: standalone mode needs no Prometheus."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
import structlog

from cacheroute.domain.rates import RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.spec import PlanSpec
from cacheroute.prom.exposition import PlanCounters, read_counters
from cacheroute.prom.interpret import Measured, outcome
from cacheroute.prom.window import CounterWindow, Growth

PERIOD_SECONDS = 1.0
TIMEOUT_SECONDS = 5.0
KEEP_SECONDS = 3600.0
MAX_STATS_BYTES = 64 * 1024 * 1024
MIN_SHARE_OF_WINDOW = 0.25
"""How much of the window must have been measured before rates are believed."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Proxy:
    url: str
    window: CounterWindow = field(default_factory=lambda: CounterWindow(KEEP_SECONDS))
    since: float | None = None
    complaint: str = "has not answered yet"


class GatewayRates:
    """Scrapes proxies in the background and computes rates on demand."""

    def __init__(self, urls: tuple[str, ...], clock: Callable[[], float] = time.time) -> None:
        self._proxies = [_Proxy(url) for url in urls]
        self._clock = clock

    async def run(self) -> None:
        """Scrape every proxy each period, until cancelled."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await asyncio.gather(*(self._scrape(session, proxy) for proxy in self._proxies))
                await asyncio.sleep(PERIOD_SECONDS)

    async def _scrape(self, session: aiohttp.ClientSession, proxy: _Proxy) -> None:
        try:
            async with session.get(proxy.url) as answer:
                answer.raise_for_status()
                text = (await answer.content.read(MAX_STATS_BYTES)).decode("utf-8", "replace")
        except (aiohttp.ClientError, TimeoutError) as error:
            proxy.complaint = f"is not reachable: {str(error) or 'timeout'}"[:200]
            return
        counters = await asyncio.to_thread(read_counters, text)
        self.take(proxy.url, counters)

    def take(self, url: str, counters: dict[str, PlanCounters]) -> None:
        """Take one sample of one proxy."""
        proxy = next(one for one in self._proxies if one.url == url)
        now = self._clock()
        proxy.since = now if proxy.since is None else proxy.since
        proxy.window.add(now, counters)

    async def fetch(self, spec: PlanSpec, proxies: int) -> RatesOutcome:
        """Return the rates over the plan's window."""
        now, window = self._clock(), float(spec.rates.window_seconds)
        grown = [(proxy, proxy.window.growth(str(spec.ref), now, window)) for proxy in self._proxies]
        measured = [growth for _, growth in grown if growth is not None]
        if not measured:
            return self._nothing()
        since = min(proxy.since for proxy in self._proxies if proxy.since is not None)
        if now - since < MIN_SHARE_OF_WINDOW * window:
            message = (
                f"the gateway's counters have been read for {now - since:.0f} s of a window of {window:.0f} s"
            )
            return RatesUnavailable(RatesReason.PARTIAL, message)
        return outcome(spec, _sum(measured, now), proxies, "the gateway's own counters")

    def _nothing(self) -> RatesUnavailable:
        proxy = self._proxies[0]
        if proxy.since is None:
            return RatesUnavailable(
                RatesReason.UNREACHABLE, f"gateway counters at {proxy.url}: {proxy.complaint}"
            )
        return RatesUnavailable(
            RatesReason.STALE, f"gateway counters at {proxy.url} are old: {proxy.complaint}"
        )


def _sum(parts: list[Growth], now: float) -> Measured:
    by_key: dict[str, float] = defaultdict(float)
    for part in parts:
        for key, value in part.requests.items():
            by_key[key] += value / part.seconds
    return Measured(
        by_key=by_key,
        reporting=len(parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        cached_tokens=sum(part.cached_tokens for part in parts),
        time=now,
    )
