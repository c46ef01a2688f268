"""Eviction algorithms side by side over sizes of the cache."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import joblib

from cacheroute.simulation.replay.eviction import Algorithm, Found, find
from cacheroute.simulation.traces.trace import Trace

Tell = Callable[[int, int], None]
"""Called with the number of replays that are done and of all."""


class Replayed(NamedTuple):
    """One cache."""

    chosen: Algorithm
    capacity: int
    """Tokens."""
    found: Found


def powers(most: int) -> list[int]:
    """Return 1, 2, 4, … and ``most``, ascending."""
    return [2**n for n in range(most.bit_length()) if 2**n < most] + [most]


def sweep_evictions(
    trace: Trace,
    chosen: Sequence[Algorithm],
    capacities: Sequence[int],
    *,
    answers: bool = True,
    jobs: int = -1,
    tell: Tell = lambda _done, _all: None,
) -> list[Replayed]:
    """Replay every algorithm at every capacity (tokens), by algorithm, then capacity; the same whatever ``jobs``.

    Raises:
        SimulationError: a cache holds nothing.
    """
    pairs = [(one, capacity) for one in chosen for capacity in capacities]
    parallel = joblib.Parallel(n_jobs=jobs if len(pairs) > 1 else 1, return_as="generator")
    tasks = (joblib.delayed(find)(trace, one, capacity, answers=answers) for one, capacity in pairs)
    rows = []
    tell(0, len(pairs))
    for (one, capacity), found in zip(pairs, parallel(tasks), strict=True):
        rows.append(Replayed(one, capacity, found))
        tell(len(rows), len(pairs))
    return rows
