"""Row 2: 100,000 keys planned: a full push, a change under load, and what the memory of it is."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.gateway import load, rig
from benchmarks.gateway.load import Load, Traffic
from benchmarks.gateway.processes import MeasureError
from benchmarks.gateway.publisher import Done
from benchmarks.gateway.results import Figure, Row, median, worst

KEYS, QUICK_KEYS = 100_000, 2_000
FLEETS = (30, 1000)
"""Destinations."""
QUICK_REPETITIONS = (1, 1)
REPETITIONS = {30: (3, 5), 1000: (1, 2)}
"""Full pushes and changes for each of them: the large one takes minutes."""
LOAD_SECONDS, SETTLE_SECONDS = 3.0, 1.0
CONNECTIONS = 8
PUSH_SECONDS, SLOWEST_MS, ENVOY_MB, OPERATOR_MB = 0.5, 50.0, 150.0, 500.0


@dataclass(slots=True)
class _Measured:
    """Of one fleet's size; seconds, MB and milliseconds."""

    full: list[Done] = field(default_factory=list)
    envoy: list[float] = field(default_factory=list)
    operator: list[float] = field(default_factory=list)
    changes: list[Done] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)
    slowest_without: list[float] = field(default_factory=list)


def run(say: Callable[[str], None], *, quick: bool) -> Row:
    """Measure."""
    figures: list[Figure] = []
    for destinations in FLEETS[:1] if quick else FLEETS:
        say(f"push: {destinations} destinations")
        figures.extend(_figures(_measure(destinations, quick=quick), destinations))
    return Row("push", "A route table of 100,000 keys", figures)


def _measure(destinations: int, *, quick: bool) -> _Measured:
    measured = _Measured()
    keys = QUICK_KEYS if quick else KEYS
    pushes, changes = QUICK_REPETITIONS if quick else REPETITIONS[destinations]
    for last in (number == 0 for number in reversed(range(pushes))):
        with contextlib.ExitStack() as stack:
            _, port = stack.enter_context(rig.backend())
            gateway = stack.enter_context(rig.gateway())
            where = rig.addresses(destinations, port)
            gateway.publish(rig.order(0, where))
            empty = gateway.envoy.rss_mb
            measured.full.append(gateway.publish(rig.order(keys, where)))
            measured.envoy.append(gateway.envoy.rss_mb - empty)
            measured.operator.append(gateway.publisher.rss_mb)
            if last:
                _change_under_load(gateway, where, keys, measured, changes)
    return measured


def _change_under_load(
    gateway: rig.Gateway, where: list[tuple[str, int]], keys: int, measured: _Measured, changes: int
) -> None:
    """Change the plan while requests come; each time beside a load without a change, in turn."""
    traffic = Traffic("header", 0, keys - 1, min(keys, 256))
    load.run(gateway.port, traffic, 1, CONNECTIONS)
    for number in range(1, changes + 1):
        measured.slowest_without.append(_checked(Load(gateway.port, traffic, LOAD_SECONDS, CONNECTIONS)))
        loaded = Load(gateway.port, traffic, LOAD_SECONDS, CONNECTIONS)
        time.sleep(SETTLE_SECONDS)
        measured.changes.append(_changed(gateway.publish(rig.order(keys, where, seed=number))))
        measured.slowest.append(_checked(loaded))
    measured.operator.append(gateway.publisher.rss_mb)


def _changed(done: Done) -> Done:
    if not done.moved:
        raise MeasureError("push: the rates drifted and no key moved, so no change was measured")
    return done


def _checked(loaded: Load) -> float:
    seen = loaded.seen()
    if seen.failed:
        raise MeasureError(f"{seen.failed} of {seen.requests} requests failed while the plan changed")
    return seen.slowest


def _figures(measured: _Measured, destinations: int) -> list[Figure]:
    full, changes = measured.full, measured.changes
    size = f"R = {destinations}"
    about = f"{full[-1].admitted:,} keys in {full[-1].groups:,} groups, {full[-1].route_bytes / 1e6:.1f} MB"
    moved = f"{min(one.moved for one in changes):,} keys moved at least"
    beside = f"without a change: median {sorted(measured.slowest_without)[len(changes) // 2]:.0f} ms"
    return [
        median(f"{size}: full push → ACK", [one.ack for one in full], "s", PUSH_SECONDS, about),
        median(f"{size}: compile it", [one.compile for one in full], "s"),
        median(f"{size}: plan it", [one.plan for one in full], "s"),
        median(f"{size}: Envoy, over an empty table", measured.envoy, "MB", ENVOY_MB, digits=0),
        worst(f"{size}: operator", measured.operator, "MB", OPERATOR_MB),
        median(f"{size}: change → ACK, under load", [one.ack for one in changes], "s", PUSH_SECONDS, moved),
        median(f"{size}: compile the change, under load", [one.compile for one in changes], "s"),
        median(f"{size}: slowest request of a change", measured.slowest, "ms", SLOWEST_MS, beside, digits=1),
    ]
