"""Row 7: a flood of 1,000,000 distinct keys: memory of Envoy and of the operator, and the keys that matter."""

import contextlib
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.gateway import load, rig
from benchmarks.gateway.load import Load, Traffic
from benchmarks.gateway.processes import START_SECONDS, MeasureError, page
from benchmarks.gateway.results import Figure, Row
from benchmarks.gateway.standalone import PLAN, Settings, standalone
from cacheroute.prom.exposition import read_counters

FLOOD, QUICK_FLOOD = 1_000_000, 20_000
KNOWN = 600
DESTINATIONS = 6
SETTINGS = Settings(interval_seconds=10, window_seconds=60, warm_prefixes=KNOWN // 3, eviction_seconds=30)
QUICK_SETTINGS = Settings(interval_seconds=5, window_seconds=5, warm_prefixes=KNOWN // 3, eviction_seconds=30)
PIECE_SECONDS = 10
WARM_SECONDS = 5
CONNECTIONS = 16
ENVOY_MB, OPERATOR_MB = 400.0, 500.0
_FIRST = 1_000_000
"""Number of the flood's first key; known keys are below."""


@dataclass(slots=True)
class _Curve:
    """What was seen after each piece of the flood: keys so far, MB of Envoy, MB of the operator."""

    points: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, keys: int, gateway: rig.Gateway) -> None:
        self.points.append((keys, round(gateway.envoy.rss_mb), round(gateway.publisher.rss_mb)))

    def grown(self, which: int) -> list[float]:
        return [point[which] - self.points[0][which] for point in self.points]

    def late(self, which: int) -> float:
        """Return the growth of the peak from the first half of the flood to the second."""
        values = [point[which] for point in self.points]
        middle = len(values) // 2 + 1
        return max(0.0, max(values[middle:] or values) - max(values[:middle]))


def run(say: Callable[[str], None], *, quick: bool) -> Row:
    """Measure."""
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(rig.backend())
        settings = QUICK_SETTINGS if quick else SETTINGS
        gateway = stack.enter_context(standalone(settings, rig.addresses(DESTINATIONS, port)))
        say("flood: waiting for the plan of the known keys")
        _until_planned(gateway)
        before, curve = _counted(gateway), _Curve()
        curve.add(0, gateway)
        sent = _flood(gateway, QUICK_FLOOD if quick else FLOOD, curve, say)
        after = _until_counted(gateway, before + sent)
        planned = _decision(gateway) == "planned"
    return Row(
        "flood",
        "A flood of distinct keys",
        _figures(curve, sent, after - before, planned=planned),
        more=_more(curve),
    )


def _flood(gateway: rig.Gateway, size: int, curve: _Curve, say: Callable[[str], None]) -> int:
    """Send the flood, half in a header and half in the body, beside the known keys; returns requests of these."""
    sent, piece = 0, 2 if size == QUICK_FLOOD else PIECE_SECONDS
    for where, first, last in (("header", 0, size // 2), ("body", size // 2, size)):
        at = first
        while at < last:
            known = Load(gateway.port, Traffic("header", 0, KNOWN - 1, KNOWN), piece, 1)
            traffic = Traffic(where, _FIRST + at, flood=True)
            seen, seen_known = load.run(gateway.port, traffic, piece, CONNECTIONS), known.seen()
            if seen.failed or seen_known.failed:
                raise MeasureError(f"flood: {seen.failed + seen_known.failed} requests failed")
            at, sent = at + seen.requests + CONNECTIONS, sent + seen_known.requests
            curve.add(at, gateway)
            say(
                f"flood: {at:,} keys, Envoy {curve.points[-1][1]:.0f} MB, operator {curve.points[-1][2]:.0f} MB"
            )
    return sent


def _until_planned(gateway: rig.Gateway) -> None:
    """Send the known keys until they are planned."""
    _until_served(gateway)
    end = time.monotonic() + 2 * START_SECONDS
    while time.monotonic() < end:
        load.run(gateway.port, Traffic("header", 0, KNOWN - 1, KNOWN), WARM_SECONDS, 1)
        if _decision(gateway) == "planned":
            return
    raise MeasureError(f"flood: no plan after {2 * START_SECONDS:.0f} s")


def _until_served(gateway: rig.Gateway) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            _decision(gateway)
            return
        time.sleep(0.1)
    raise MeasureError("flood: the gateway serves nothing: is the operator up?")


def _decision(gateway: rig.Gateway) -> str:
    """Return how a known key is routed."""
    headers = {rig.HEADER[1]: "tenant-0000001", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{gateway.port}/v1/completions", b'{"model":"llama"}', headers
    )
    with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:  # noqa: S310  same
        decision: str = answer.headers["x-cacheroute-decision"]
        return decision


def _counted(gateway: rig.Gateway) -> int:
    """Return how many requests of known keys Envoy has counted."""
    requests = read_counters(page(gateway.stats).decode())[PLAN].requests
    return int(sum(requests.get(f"tenant-{number:07d}", 0) for number in range(KNOWN)))


def _until_counted(gateway: rig.Gateway, expected: int) -> int:
    """Return the count, which follows the answers."""
    counts = (_counted(gateway) for _ in range(10))
    return next((count for count in counts if count >= expected), 0) or _counted(gateway)


def _figures(curve: _Curve, sent: int, counted: int, *, planned: bool) -> list[Figure]:
    keys = f"{curve.points[-1][0]:,} keys"
    return [
        Figure("Envoy, most over before", max(curve.grown(1)), "MB", ENVOY_MB, note=keys),
        Figure("Envoy, second half over first", curve.late(1), "MB", ENVOY_MB / 4),
        Figure("operator, most", max(point[2] for point in curve.points), "MB", OPERATOR_MB, note=keys),
        Figure("known keys' requests not counted", max(0, sent - counted), f"of {sent:,}", 0.0),
        Figure("known key no longer planned", float(not planned), "", 0.0),
    ]


def _more(curve: _Curve) -> dict[str, list[tuple[int, float, float]]]:
    return {"curve": curve.points}
