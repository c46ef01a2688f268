"""The planner at the size of the paper: 128,824 keys, lognormal rates, 30 destinations."""

import heapq

import numpy as np

from benchmarks.runner import Benchmark
from cacheroute.planning.paper import plan_paper
from cacheroute.planning.types import Demand, Fleet

KEYS, DESTINATIONS, SIGMA = 128_824, 30, 1.65
PAPER = {"paper": "345 ms for 128,824 keys at R = 30 (arXiv 2608.19677, section 3)"}


def demand() -> Demand:
    """Return rates of the paper's skew at 70 requests/s in all."""
    rate = np.random.default_rng(7).lognormal(0.0, SIGMA, KEYS)
    return Demand(rate * 70.0 / rate.sum())


def fleet(warm: int) -> Fleet:
    """Return the paper's fleet with ``warm`` slots a destination."""
    return Fleet(np.full(DESTINATIONS, 2.5), np.full(DESTINATIONS, warm, dtype=np.int64))


def plain_transcription(rate: list[float], slots: int) -> list[int]:
    """Sort everything, admit, place with a heap: Algorithm 1 as one would write it down in Python (counts are 1)."""
    order = sorted(range(len(rate)), key=lambda key: (-rate[key], key))[:slots]
    heap = [(0.0, r) for r in range(DESTINATIONS)]
    placed = []
    for key in order:
        load, r = heap[0]
        placed.append(r)
        heapq.heapreplace(heap, (load + rate[key], r))
    return placed


def _benchmark(name: str, keys: Demand, warm: int) -> Benchmark:
    where, rate, slots = fleet(warm), keys.rate.tolist(), warm * DESTINATIONS
    return Benchmark(
        name=name,
        subject=lambda: plan_paper(keys, where, None),
        baseline=lambda: plain_transcription(rate, slots),
        baseline_name="plain Python transcription",
        notes=PAPER | {"slots": slots},
    )


def benchmarks() -> list[Benchmark]:
    """Return the two cases of the paper's planner."""
    keys = demand()
    return [_benchmark("planner-paper-top", keys, 128), _benchmark("planner-paper-all", keys, 4_295)]
