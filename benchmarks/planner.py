"""The planner at the size of the paper: 128,824 keys, lognormal rates, 30 destinations."""

import heapq
import math
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.runner import Result, compare
from cacheroute.planning.paper import plan_paper
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import Demand, Fleet

KEYS, DESTINATIONS, SIGMA, SEED = 128_824, 30, 1.65, 7
CAPACITY, TRAFFIC = 2.5, 70.0
TOP_SLOTS = 128
"""Warm slots of one destination in the paper: C = 30 * 128 = 3,840."""
ALL_SLOTS = math.ceil(KEYS / DESTINATIONS)
"""Warm slots of one destination with which every key is admitted."""
DRIFT = 0.3
"""Standard deviation of the logarithm of one interval's change of a rate (the paper, section 5)."""
PAPER_MS = 345.0
"""What the paper reports for 128,824 keys at R = 30, on its machine (section 3)."""


def demand() -> Demand:
    """Return rates of the paper's skew, TRAFFIC requests/s in all."""
    rate = np.random.default_rng(SEED).lognormal(0.0, SIGMA, KEYS)
    return Demand(rate * TRAFFIC / rate.sum())


def fleet(warm: int) -> Fleet:
    """Return the paper's fleet with ``warm`` slots a destination."""
    return Fleet(np.full(DESTINATIONS, CAPACITY), np.full(DESTINATIONS, warm, dtype=np.int64))


def transcription(rate: list[float], slots: int) -> dict[int, list[int]]:
    """Algorithm 1 as one would write it down in Python: sort all keys, admit in a loop, place with a heap."""
    count = [max(1, math.ceil(one / CAPACITY)) for one in rate]
    admitted = []
    for key in sorted(range(len(rate)), key=lambda key: (-rate[key], key)):
        if count[key] <= slots:
            admitted.append(key)
            slots -= count[key]
    cold = (sum(rate) - sum(rate[key] for key in admitted)) / DESTINATIONS
    heap = [(cold, r) for r in range(DESTINATIONS)]
    table = {}
    for key in admitted:
        chosen = [heapq.heappop(heap) for _ in range(count[key])]
        for load, r in chosen:
            heapq.heappush(heap, (load + rate[key] / count[key], r))
        table[key] = [r for _, r in chosen]
    return table


def _paper(name: str, warm: int) -> Result:
    keys, where = demand(), fleet(warm)
    rate = keys.rate.tolist()
    return compare(
        name,
        lambda: plan_paper(keys, where),
        ("plain Python transcription, no standbys", lambda: transcription(rate, where.slots)),
        {"paper": PAPER_MS, "keys": KEYS, "destinations": DESTINATIONS, "slots": where.slots},
    )


def stable_step(name: str, keys: int, destinations: int, warm: int, traffic: float) -> Result:
    """Time one step of Stable after a drift of sigma 0.3, against planning from scratch by Paper."""
    random = np.random.default_rng(SEED)
    rate = random.lognormal(0.0, SIGMA, keys)
    where = Fleet(np.full(destinations, CAPACITY), np.full(destinations, warm, dtype=np.int64))
    before = plan_stable(Demand(rate * traffic / rate.sum()), where)
    drifted = rate * np.exp(DRIFT * random.standard_normal(keys))
    demand = Demand(drifted * traffic / drifted.sum())
    after = plan_stable(demand, where, before)
    return compare(
        name,
        lambda: plan_stable(demand, where, before),
        ("policy Paper from scratch", lambda: plan_paper(demand, where)),
        {
            "keys": keys,
            "destinations": destinations,
            "slots": where.slots,
            "keys_moved": after.report.keys_moved,
            "rewarm_percent": round(100 * after.report.rewarm_rate / traffic, 3),
            "bytes_per_key": round(_peak_bytes(lambda: plan_stable(demand, where, before)) / keys, 1),
        },
    )


def _peak_bytes(subject: Callable[[], object]) -> int:
    """Return what a call allocates at most, numpy's arrays included."""
    tracemalloc.start()
    subject()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


BENCHMARKS: dict[str, Callable[[], Result]] = {
    "planner-paper-top": lambda: _paper("planner-paper-top", TOP_SLOTS),
    "planner-paper-all": lambda: _paper("planner-paper-all", ALL_SLOTS),
    "planner-stable-step": lambda: stable_step("planner-stable-step", KEYS, DESTINATIONS, TOP_SLOTS, TRAFFIC),
    "planner-stable-million": lambda: stable_step(
        "planner-stable-million", 1_000_000, 1_000, TOP_SLOTS, TRAFFIC / DESTINATIONS * 1_000
    ),
}
