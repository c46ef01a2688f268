"""Puts requests in order of arrival with bounded memory: access logs are written when a request ends."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from cacheroute.simulation.traces.requests import Requests, join

HELD = 2_000_000
"""Requests that are held back; one may stand half as many behind its place."""
PART = 250_000
"""Requests of a part that is given on."""


def in_order(
    parts: Iterable[Requests], late: Callable[[int], Exception], held: int = HELD
) -> Iterator[Requests]:
    """Yield the requests by time; those of one time in the order of the file.

    Args:
        parts: requests in any order that is off by less than ``held`` / 2.
        late: returns the error for a row that comes later than that.
        held: how many are held back.

    Raises:
        Exception: what ``late`` returns.
    """
    waiting: list[Requests] = []
    count, given = 0, -np.inf
    for part in parts:
        if part.size and part.time.min() < given:
            raise late(int(part.row[np.argmax(part.time < given)]))
        waiting.append(part)
        count += part.size
        if count > held:
            everything = _sorted(waiting)
            waiting.clear()
            yield from _cut(everything, 0, count // 2)
            given = float(everything.time[count // 2 - 1])
            waiting = [everything.take(np.arange(count // 2, count))]
            count -= count // 2
    if waiting:
        yield from _cut(_sorted(waiting), 0, count)


def _sorted(parts: list[Requests]) -> Requests:
    everything = join(parts)
    if (np.diff(everything.time) >= 0).all():
        return everything
    return everything.take(np.argsort(everything.time, kind="stable"))


def _cut(requests: Requests, start: int, end: int) -> Iterator[Requests]:
    for at in range(start, end, PART):
        yield requests.take(np.arange(at, min(at + PART, end)))
