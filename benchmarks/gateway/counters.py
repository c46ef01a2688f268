"""The counters of 130,000 keys: memory of Envoy, and how long its page takes."""

import contextlib
import time
from collections.abc import Callable

from benchmarks.gateway import load, rig
from benchmarks.gateway.load import Traffic
from benchmarks.gateway.processes import MeasureError, page
from benchmarks.gateway.results import Figure, Row, median

KEYS, QUICK_KEYS = 130_000, 3_000
PLANNED = 1_000
PIECE_SECONDS, CONNECTIONS, PAGES = 5, 16, 3
ENVOY_MB, PAGE_MB, SECONDS = 150.0, 64.0, 2.0
_MB = 1_000_000


def run(say: Callable[[str], None], *, quick: bool) -> Row:
    """Measure."""
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(rig.backend())
        gateway = stack.enter_context(rig.gateway())
        gateway.publish(rig.order(PLANNED, rig.addresses(rig.DESTINATIONS, port)))
        load.run(gateway.port, Traffic("header", 0, 0), 1, CONNECTIONS)
        before = gateway.envoy.rss_mb
        keys = _send(gateway, QUICK_KEYS if quick else KEYS, say)
        grown = gateway.envoy.rss_mb - before
        sizes, seconds = zip(*(_page(gateway) for _ in range(PAGES)), strict=True)
        peak = gateway.envoy.rss_mb - before
    what = f"{keys:,} keys, 3 counters each"
    return Row(
        "counters",
        "Counters of 130,000 keys",
        [
            Figure("Envoy, over before", round(grown), "MB", ENVOY_MB, note=what),
            Figure("Envoy after its pages were read", round(peak), "MB"),
            median("/stats/prometheus", list(sizes), "MB", PAGE_MB, digits=1),
            median("/stats/prometheus, seconds", list(seconds), "s", SECONDS),
        ],
    )


def _send(gateway: rig.Gateway, keys: int, say: Callable[[str], None]) -> int:
    sent = 0
    while sent < keys:
        seen = load.run(
            gateway.port,
            Traffic("header", sent, flood=True),
            1 if keys == QUICK_KEYS else PIECE_SECONDS,
            CONNECTIONS,
        )
        if seen.failed:
            raise MeasureError(f"counters: {seen.failed} requests failed")
        sent += seen.requests
        say(f"counters: {sent:,} keys")
    return sent


def _page(gateway: rig.Gateway) -> tuple[float, float]:
    """Return the size of the page of counters, MB, and how long it took, seconds."""
    start = time.perf_counter()
    size = len(page(gateway.stats)) / _MB
    return size, time.perf_counter() - start
