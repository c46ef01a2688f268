"""Rates from the gateways' own counters: standalone mode needs no Prometheus."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import aiohttp

from cacheroute.domain.rates import RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.spec import PlanSpec
from cacheroute.prom.arms import TTFT_P50, TTFT_P99, quantile
from cacheroute.prom.exposition import DROPPED, PROXY, Figure, PlanCounters, read_counters
from cacheroute.prom.interpret import Measured, outcome
from cacheroute.prom.window import CounterWindow, Growth

SAMPLES_PER_WINDOW = 50
SHORTEST_PERIOD, LONGEST_PERIOD = 1.0, 30.0
"""Seconds between two scrapes; a fiftieth of the shortest window that a plan asked for, within these: keys of the last seconds count."""
FRESH_PERIODS = 3.0
"""A proxy that missed so many scrapes does not report any more."""
TIMEOUT_SECONDS = 10.0
"""130,000 keys take a busy Envoy 6 s."""
_WANTED = {"filter": r"^cacheroute\.(requests|prompt_tokens|arm_)|^server\.stats_overflow"}
"""Envoy leaves out what does not match: a third of the counters of keys, and everything of its own."""
MAX_STATS_BYTES = 128 * 1024 * 1024
"""500,000 counters are about 60 MB."""
MIN_SHARE_OF_WINDOW = 0.25
"""How much of the window must have been measured before rates are believed."""
SOURCE = "the gateway's own counters"


class _TooLargeError(aiohttp.ClientError):
    """A page exceeds MAX_STATS_BYTES."""


@dataclass(slots=True)
class _Proxy:
    url: str
    window: CounterWindow = field(default_factory=lambda: CounterWindow(0.0))
    since: float | None = None
    complaint: str = "has not answered yet"


class GatewayRates:
    """Scrapes proxies in the background and computes rates on demand."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        """Take at least one URL of a proxy's Prometheus endpoint, and a clock in seconds that nobody sets."""
        self._proxies = [_Proxy(url) for url in urls]
        self._clock = clock
        self._windows: set[float] = set()

    @property
    def period(self) -> float:
        """Seconds between two scrapes of a proxy."""
        wanted = min(self._windows, default=0.0) / SAMPLES_PER_WINDOW
        return min(max(wanted, SHORTEST_PERIOD), LONGEST_PERIOD)

    async def run(self) -> None:
        """Scrape every proxy each period, until cancelled."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await asyncio.gather(*(self._scrape(session, proxy) for proxy in self._proxies))
                await asyncio.sleep(self.period)

    async def _scrape(self, session: aiohttp.ClientSession, proxy: _Proxy) -> None:
        try:
            page = await _page(session, proxy.url)
        except (aiohttp.ClientError, TimeoutError) as error:
            proxy.complaint = f"is not reachable: {str(error) or 'timeout'}"[:200]
            return
        now = self._clock()
        counters = await asyncio.to_thread(_counters, page)
        self._sample(proxy, now, counters)

    def take(self, url: str, counters: dict[str, PlanCounters]) -> None:
        """Take one sample of one proxy."""
        proxy = next(one for one in self._proxies if one.url == url)
        self._sample(proxy, self._clock(), counters)

    def _sample(self, proxy: _Proxy, now: float, counters: dict[str, PlanCounters]) -> None:
        proxy.since = now if proxy.since is None else proxy.since
        proxy.window.keep_seconds = max(self._windows, default=LONGEST_PERIOD)
        proxy.window.add(now, counters)

    async def fetch(self, spec: PlanSpec, proxies: int) -> RatesOutcome:
        """Return the rates over the plan's window."""
        now, window = self._clock(), float(spec.rates.window_seconds)
        self._windows.add(window)
        reporting = [proxy for proxy in self._proxies if self._reports(proxy, now)]
        if not reporting:
            return self._nothing()
        measured = now - min(proxy.since for proxy in reporting if proxy.since is not None)
        if measured < MIN_SHARE_OF_WINDOW * window:
            message = f"{SOURCE} have been read for {measured:.0f} s of a window of {window:.0f} s"
            return RatesUnavailable(RatesReason.PARTIAL, message)
        grown = [(proxy, proxy.window.growth(str(spec.ref), now, window)) for proxy in self._proxies]
        parts = [
            (growth, (growth.end if proxy in reporting else now) - growth.start)
            for proxy, growth in grown
            if growth is not None
        ]
        summed = replace(_sum(parts, len(reporting), window), uncounted=self._dropped(now, window))
        return outcome(spec, summed, proxies, SOURCE)

    def _dropped(self, now: float, window: float) -> float:
        """Return the additions/s that the proxies dropped."""
        grown = (proxy.window.growth(PROXY, now, window) for proxy in self._proxies)
        return sum(one.figures.get(DROPPED, 0.0) / (one.end - one.start) for one in grown if one is not None)

    def _reports(self, proxy: _Proxy, now: float) -> bool:
        newest = proxy.window.newest
        return newest is not None and now - newest <= FRESH_PERIODS * self.period + TIMEOUT_SECONDS

    def _nothing(self) -> RatesUnavailable:
        proxy = self._proxies[0]
        reason = RatesReason.UNREACHABLE if proxy.since is None else RatesReason.STALE
        age = "" if proxy.since is None else "are old, it "
        return RatesUnavailable(reason, f"gateway counters at {proxy.url}: {age}{proxy.complaint}")


def _counters(page: bytes) -> dict[str, PlanCounters]:
    return read_counters(page.decode("utf-8", "replace"))


async def _page(session: aiohttp.ClientSession, url: str) -> bytes:
    """Return the whole page; a part of one could end within a number."""
    page = bytearray()
    async with session.get(url, params=_WANTED) as answer:
        answer.raise_for_status()
        async for chunk in answer.content.iter_any():
            page += chunk
            if len(page) > MAX_STATS_BYTES:
                raise _TooLargeError(f"the page is over {MAX_STATS_BYTES >> 20} MiB")
    return bytes(page)


def _sum(parts: Sequence[tuple[Growth, float]], reporting: int, window: float) -> Measured:
    """Add up what proxies counted, each over its own seconds; the sum has the time of day."""
    by_key: dict[str, float] = defaultdict(float)
    tokens: dict[str, float] = defaultdict(float)
    figures: dict[Figure, float] = defaultdict(float)
    for growth, seconds in parts:
        for key, value in growth.requests.items():
            by_key[key] += value / seconds
        for key, value in growth.prompt_tokens.items():
            tokens[key] += value / seconds
        for figure, number in growth.figures.items():
            figures[figure] += number / seconds * window
    return Measured(
        by_key=by_key,
        reporting=reporting,
        numbers=_numbers(figures),
        time=time.time(),
        tokens_by_key=tokens,
    )


def _numbers(figures: Mapping[Figure, float]) -> dict[tuple[str, str], float]:
    """Return figures with the quantiles of each arm in the place of its buckets."""
    numbers = {(name, arm): value for (name, arm), value in figures.items() if isinstance(name, str)}
    for one in {arm for _, arm in figures}:
        buckets = {
            bound: value for (bound, arm), value in figures.items() if isinstance(bound, float) and arm == one
        }
        for name, share in ((TTFT_P50, 0.5), (TTFT_P99, 0.99)):
            found = quantile(buckets, share)
            if found is not None:
                numbers[name, one] = found
    return numbers
