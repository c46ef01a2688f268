"""Row 7: a flood of 1,000,000 distinct keys: memory of Envoy and of the operator, and the keys that matter."""

import contextlib
import statistics
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from benchmarks.gateway import load, rig
from benchmarks.gateway.load import Load, Traffic
from benchmarks.gateway.processes import START_SECONDS, MeasureError, page
from benchmarks.gateway.results import Figure, Row
from benchmarks.gateway.standalone import PLAN, Settings, standalone
from cacheroute.prom.exposition import read_counters
from cacheroute.prom.window import CounterWindow

FLOOD, QUICK_FLOOD = 1_000_000, 20_000
KNOWN = 120
"""Few, so that each is asked for more often than counters are dropped, also on a busy machine."""
DESTINATIONS = 6
SETTINGS = Settings(interval_seconds=10, window_seconds=60, warm_prefixes=KNOWN // 3, eviction_seconds=60)
QUICK_SETTINGS = Settings(interval_seconds=5, window_seconds=5, warm_prefixes=KNOWN // 3, eviction_seconds=30)
PIECE_SECONDS = 10
WORKER = "wrk:worker"
"""What Envoy calls its workers' threads."""
WARM_SECONDS = 5
CONNECTIONS = 16
LEAST_KEYS_PER_SECOND = 20
"""Below it nothing moves, and the measurement ends; however slow a busy machine is, it never sends fewer keys."""
ENVOY_MB, OPERATOR_MB, DEARER = 400.0, 500.0, 1.5
WHERE = ("header", "body")
"""Where the keys of the flood stand: of its first half and of its second."""
_FIRST = 1_000_000
"""Number of the flood's first key; known keys are below."""
_KNOWN_REQUESTS = r"^cacheroute\.requests\..*tenant-0"
"""What Envoy calls the counters of known keys' requests."""


@dataclass(slots=True)
class _Curve:
    """What was seen after each piece of the flood.

    Attributes:
        points: keys so far, MB of Envoy, MB of the operator.
        costs: processor time of Envoy's worker, µs, for each request of a piece, by where its keys stood. Its main
            thread, which writes pages of counters, serves no requests.
    """

    points: list[tuple[int, float, float]] = field(default_factory=list)
    costs: dict[str, list[float]] = field(default_factory=lambda: {where: [] for where in WHERE})

    def add(self, keys: int, gateway: rig.Gateway) -> None:
        self.points.append((keys, round(gateway.envoy.rss_mb), round(gateway.publisher.rss_mb)))

    def dearest_end(self) -> float:
        """Return what a request costs Envoy at the end, over the beginning; of both places the worse."""
        return max(end / begin for begin, end in map(_begin_and_end, self.costs.values()))

    def grown(self, which: int) -> list[float]:
        return [point[which] - self.points[0][which] for point in self.points]

    def late(self, which: int) -> float:
        """Return the growth of the peak from the first half of the flood to the second."""
        values = [point[which] for point in self.points]
        middle = len(values) // 2 + 1
        return max(0.0, max(values[middle:] or values) - max(values[:middle]))


class _Counted:
    """How many requests of known keys Envoy has counted since the first look, read as the operator does.

    Envoy drops what rests, such as the counters of the time before the plan, so that a mere difference would not do.
    """

    def __init__(self, gateway: rig.Gateway) -> None:
        self._page = f"{gateway.stats}?{urlencode({'filter': _KNOWN_REQUESTS})}"
        self._window = CounterWindow(1.0)
        self._looks = 0.0
        self._sum = 0.0
        self.look()

    def look(self) -> int:
        """Read the counters; returns the requests since the first look."""
        self._looks += 1.0
        self._window.add(self._looks, read_counters(page(self._page).decode()))
        grown = self._window.growth(PLAN, self._looks, 1.0)
        if grown is not None:
            self._sum += sum(grown.requests.get(f"tenant-{number:07d}", 0.0) for number in range(KNOWN))
        return int(self._sum)

    def until(self, expected: int) -> int:
        """Return the count, which follows the answers."""
        counts = (self.look() for _ in range(10))
        return next((count for count in counts if count >= expected), 0) or self.look()


def _begin_and_end(costs: list[float]) -> tuple[float, float]:
    """Return the medians of the first and of the last fifth."""
    fifth = max(1, len(costs) // 5)
    return statistics.median(costs[:fifth]), statistics.median(costs[-fifth:])


def run(say: Callable[[str], None], *, quick: bool) -> Row:
    """Measure."""
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(rig.backend())
        settings = QUICK_SETTINGS if quick else SETTINGS
        gateway = stack.enter_context(standalone(settings, rig.addresses(DESTINATIONS, port)))
        say("flood: waiting for the plan of the known keys")
        _until_planned(gateway)
        counted, curve = _Counted(gateway), _Curve()
        curve.add(0, gateway)
        sent = _flood(gateway, QUICK_FLOOD if quick else FLOOD, curve, counted, say)
        found = counted.until(sent)
        planned = _decision(gateway) == "planned"
    return Row(
        "flood",
        "A flood of distinct keys",
        _figures(curve, sent, found, planned=planned),
        more=_more(curve),
    )


def _flood(
    gateway: rig.Gateway, size: int, curve: _Curve, counted: _Counted, say: Callable[[str], None]
) -> int:
    """Send the flood, half in a header and half in the body, beside the known keys; returns requests of these."""
    sent, at, piece = 0, 0, 2 if size == QUICK_FLOOD else PIECE_SECONDS
    for where, last in zip(WHERE, (size // 2, size), strict=True):
        while at < last:
            before = gateway.envoy.thread_seconds(WORKER)
            keys, known = _piece(gateway.port, where, at, piece)
            spent = gateway.envoy.thread_seconds(WORKER) - before
            curve.costs[where].append(round(spent * 1e6 / (keys + known), 1))
            at, sent = at + keys + CONNECTIONS, sent + known
            curve.add(at, gateway)
            counted.look()
            say(_progress(curve, where, keys / piece))
    return sent


def _piece(port: int, where: str, at: int, seconds: float) -> tuple[int, int]:
    """Send new keys from number ``at`` on for so long, and known ones; returns the requests of both."""
    known = Load(port, Traffic("header", 0, KNOWN - 1, KNOWN), seconds, 1)
    seen = load.run(port, Traffic(where, _FIRST + at, flood=True), seconds, CONNECTIONS)
    seen_known = known.seen()
    if seen.failed or seen_known.failed:
        raise MeasureError(f"flood: {seen.failed + seen_known.failed} requests failed")
    if seen.requests < LEAST_KEYS_PER_SECOND * seconds:
        raise MeasureError(f"flood: after {at:,} keys only {seen.requests} more in {seconds:g} s")
    return seen.requests, seen_known.requests


def _progress(curve: _Curve, where: str, rate: float) -> str:
    keys, envoy, operator = curve.points[-1]
    cost = curve.costs[where][-1]
    return (
        f"flood: {keys:,} keys, {rate:,.0f} keys/s, Envoy {envoy:.0f} MB and {cost:.0f} µs each, "
        f"operator {operator:.0f} MB"
    )


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


def _figures(curve: _Curve, sent: int, counted: int, *, planned: bool) -> list[Figure]:
    keys = f"{curve.points[-1][0]:,} keys"
    return [
        Figure("Envoy, most over before", max(curve.grown(1)), "MB", ENVOY_MB, note=keys),
        Figure("Envoy, second half over first", curve.late(1), "MB", ENVOY_MB / 4),
        Figure("a request's cost at the end, over the beginning", round(curve.dearest_end(), 2), "", DEARER),
        Figure("operator, most", max(point[2] for point in curve.points), "MB", OPERATOR_MB, note=keys),
        Figure("known keys' requests not counted", max(0, sent - counted), f"of {sent:,}", 0.0),
        Figure("known key no longer planned", float(not planned), "", 0.0),
    ]


def _more(curve: _Curve) -> dict[str, object]:
    return {"curve": curve.points, "microseconds": curve.costs}
