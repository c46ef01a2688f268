"""Policy ``Paper``: Algorithm 1 of CacheRoute (arXiv 2608.19677), from scratch each interval.

Where the paper is silent: ties go to the lower index (the name, bytewise); a key that does not fit is skipped and
the scan goes on; k_b is at most R. The paper's fleet is uniform. On an unequal one the count is taken from the
smallest capacity and destinations are compared by L[r] scaled to the largest capacity, which is L[r] itself
where all are equal.
"""

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.measures import imbalance
from cacheroute.planning.types import Demand, Fleet, Plan, PlanReport


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Choices that the paper leaves open.

    Attributes:
        stop_at_first: end the admission at the first key that does not fit instead of skipping it.
    """

    stop_at_first: bool = False


DEFAULT_OPTIONS = PaperOptions()


def plan_paper(
    demand: Demand, fleet: Fleet, previous: Plan | None, options: PaperOptions = DEFAULT_OPTIONS
) -> Plan:
    """Plan from scratch; ``previous`` is not looked at, which is what makes this policy reshuffle.

    O(B + A log A + Σk log R): only keys that can be admitted are sorted.
    """
    del previous
    slots = int(fleet.warm_slots.sum())
    admitted, count, skipped = admit(demand.rate, fleet, slots, options)
    rate = demand.rate[admitted]
    cold = cold_load(demand, rate, fleet.size)
    offsets = np.concatenate(([0], np.cumsum(count)))
    members, load = place(rate, count, cold, fleet)
    standby = standbys(rate, (offsets, members), load, fleet)
    report = PlanReport(
        keys_known=int(demand.rate.size),
        keys_admitted=int(admitted.size),
        keys_skipped=skipped,
        slots_used=int(offsets[-1]),
        slots_total=slots,
        admitted_rate=float(rate.sum()),
        total_rate=float(demand.rate.sum()) + demand.unkeyed,
        imbalance=imbalance(load, fleet.capacity),
        overloaded=np.flatnonzero(demand.rate > fleet.capacity.sum()),
    )
    return Plan(admitted, offsets, members, standby, load, report)


def counts(rate: NDArray[np.float64], fleet: Fleet) -> NDArray[np.int64]:
    """Return k_b = max(1, ceil(λ_b / q_cap)), at most R (equation 2), int64 of the shape of ``rate``."""
    needed = np.minimum(np.ceil(rate / fleet.capacity.min()), fleet.size)
    count: NDArray[np.int64] = np.maximum(needed, 1).astype(np.int64)
    return count


def admit(
    rate: NDArray[np.float64], fleet: Fleet, slots: int, options: PaperOptions = DEFAULT_OPTIONS
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Admit keys by decreasing rate while Σk <= C (equation 3).

    Returns:
        The admitted keys in that order, their counts, and how many keys were skipped before slots ran out.
    """
    reach = min(slots, rate.size)
    while True:
        order = _highest(rate, reach)
        count = counts(rate[order], fleet)
        taken, left = _fit(count, slots, options)
        if left == 0 or order.size == rate.size or (options.stop_at_first and not taken.all()):
            break
        reach = min(2 * order.size + 1, rate.size)
    return order[taken], count[taken], _skipped(taken)


def _highest(rate: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Return at least ``number`` keys of the highest rates in decreasing order, ties by index and never cut."""
    if number == 0:
        return np.empty(0, dtype=np.int64)
    keys = np.arange(rate.size)
    if number < rate.size:
        threshold = np.partition(rate, rate.size - number)[rate.size - number]
        keys = np.flatnonzero(rate >= threshold)
    return keys[np.argsort(-rate[keys], kind="stable")]


def _fit(count: NDArray[np.int64], slots: int, options: PaperOptions) -> tuple[NDArray[np.bool_], int]:
    """Mark the keys that fit; counts fall along the order, so each run of equal counts is cut at one place."""
    taken = np.zeros(count.size, dtype=np.bool_)
    edges = [*np.flatnonzero(np.diff(count, prepend=0)).tolist(), count.size]
    for start, end in itertools.pairwise(edges):
        needed = int(count[start])
        fitting = min(end - start, slots // needed)
        taken[start : start + fitting] = True
        slots -= fitting * needed
        if slots == 0 or (options.stop_at_first and fitting < end - start):
            break
    return taken, slots


def _skipped(taken: NDArray[np.bool_]) -> int:
    """Count the keys that did not fit before the last one that did."""
    last = np.flatnonzero(taken)
    return int(last[-1] + 1 - last.size) if last.size else 0


def cold_load(demand: Demand, admitted_rate: NDArray[np.float64], size: int) -> float:
    """Return what every destination serves of the cold tail: (Σ λ of keys not admitted + unkeyed) / R, requests/s."""
    cold = float(demand.rate.sum()) - float(admitted_rate.sum()) + demand.unkeyed
    return max(0.0, cold) / size


def place(
    rate: NDArray[np.float64], count: NDArray[np.int64], cold: float, fleet: Fleet
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give each key, in decreasing rate, the k_b distinct destinations of smallest load (LPT).

    Returns:
        int64[Σk] destinations, ascending within a key, and float64[R] loads.
    """
    scale = (fleet.capacity.max() / fleet.capacity).tolist()
    load = [cold] * fleet.size
    heap = [(cold * scale[r], r) for r in range(fleet.size)]
    heapq.heapify(heap)
    members: list[int] = []
    for key_rate, key_count in zip(rate.tolist(), count.tolist(), strict=True):
        if key_count == 1:
            r = heap[0][1]
            load[r] += key_rate
            members.append(r)
            heapq.heapreplace(heap, (load[r] * scale[r], r))
            continue
        chosen = sorted(heapq.heappop(heap)[1] for _ in range(key_count))
        for r in chosen:
            load[r] += key_rate / key_count
            heapq.heappush(heap, (load[r] * scale[r], r))
        members.extend(chosen)
    return np.array(members, dtype=np.int64), np.array(load, dtype=np.float64)


def standbys(
    rate: NDArray[np.float64],
    assignment: tuple[NDArray[np.int64], NDArray[np.int64]],
    load: NDArray[np.float64],
    fleet: Fleet,
) -> NDArray[np.int64]:
    """Choose for each key the destination outside T(b) that would be least loaded with it, int64[A].

    Keys are taken in decreasing rate; what a destination is standby for counts as load for the next choice, so
    that the standbys spread. Ties go to the lower index; -1 where T(b) is the whole fleet.
    """
    offsets, members = (array.tolist() for array in assignment)
    scale = (fleet.capacity.max() / fleet.capacity).tolist()
    expected = load.tolist()
    heap = [(expected[r] * scale[r], r) for r in range(fleet.size)]
    heapq.heapify(heap)
    chosen: list[int] = []
    for i, key_rate in enumerate(rate.tolist()):
        start, end = offsets[i], offsets[i + 1]
        own = members[start:end]
        aside = []
        while heap and heap[0][1] in own:
            aside.append(heapq.heappop(heap))
        if heap:
            r = heap[0][1]
            expected[r] += key_rate / (end - start)
            heapq.heapreplace(heap, (expected[r] * scale[r], r))
            chosen.append(r)
        else:
            chosen.append(-1)
        for entry in aside:
            heapq.heappush(heap, entry)
    return np.array(chosen, dtype=np.int64)
