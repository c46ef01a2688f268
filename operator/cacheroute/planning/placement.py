"""Where admitted keys go, and who takes over (Algorithm 1 of CacheRoute; standbys are our own)."""

import heapq

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.pairs import ROUNDING
from cacheroute.planning.types import UNKNOWN, Demand, Fleet


def cold_load(demand: Demand, admitted: NDArray[np.int64], fleet: Fleet) -> NDArray[np.float64]:
    """Return what each destination serves of the cold tail, requests/s: an R-th of all that is not admitted.

    Power-of-two-choices spreads it evenly in expectation. The rates are summed in the order of their size, so the
    last bit does not depend on the order of the keys.
    """
    tail = np.sort(np.delete(demand.rate, admitted))
    return np.full(fleet.size, (float(tail.sum()) + demand.unkeyed) / fleet.size)


def place(
    rate: NDArray[np.float64], count: NDArray[np.int64], base: NDArray[np.float64], fleet: Fleet
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give each key in turn the k_b distinct destinations of smallest load, and these an equal share of its rate.

    In decreasing rate this is longest processing time first (LPT). Loads are compared by ``fleet.scale``, ties go
    to the lower index. O(Σk log R).

    Args:
        rate: float64[A], requests/s.
        count: int64[A], destinations of each key, 1..R.
        base: float64[R], load before the first key.
        fleet: the destinations.

    Returns:
        int64[Σk] destinations, ascending within a key, and float64[R] loads with ``base`` included.
    """
    load, scale = base.tolist(), fleet.scale.tolist()
    heap = _heap(load, scale)
    members: list[int] = []
    for key_rate, key_count in zip(rate.tolist(), count.tolist(), strict=True):
        if key_count == 1:  # nearly every key: no need to pop and push
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


def least_utilised(load: NDArray[np.float64], fleet: Fleet, excluded: set[int]) -> int:
    """Return the present destination of smallest load / capacity outside ``excluded``; UNKNOWN where there is none."""
    utilisation = np.where(fleet.present, load * fleet.scale, np.inf)
    utilisation[list(excluded)] = np.inf
    best = int(np.argmin(utilisation))
    return best if np.isfinite(utilisation[best]) else UNKNOWN


def place_covering(
    demand: tuple[NDArray[np.float64], NDArray[np.float64]],
    count: NDArray[np.int64],
    base: NDArray[np.float64],
    fleet: Fleet,
    fixed: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each key in turn the present destinations of smallest load / capacity until these cover its rate.

    Args:
        demand: rates and costs of the keys, float64[A] each, in the order of placement.
        count: int64[A], at most so many destinations each.
        base: float64[R], load before the first key, cost/s.
        fleet: the destinations; a multi-destination key is shared in proportion to their capacity.
        fixed: bool[A], keys that get their count whatever it covers.

    Returns:
        int64[A] the counts, smaller where large destinations cover the rate sooner or few are present, and int64[Σ]
        the destinations in the order of choice.
    """
    load, scale, capacity = base.tolist(), fleet.scale.tolist(), fleet.capacity.tolist()
    heap = [(load[r] * scale[r], r) for r in np.flatnonzero(fleet.present).tolist()]
    heapq.heapify(heap)
    members: list[int] = []
    sizes: list[int] = []
    for rate, cost, most, exact in zip(
        demand[0].tolist(), demand[1].tolist(), count.tolist(), fixed.tolist(), strict=True
    ):
        if heap and (most == 1 or (capacity[heap[0][1]] >= rate and not exact)):
            r = heap[0][1]
            load[r] += cost
            members.append(r)
            sizes.append(1)
            heapq.heapreplace(heap, (load[r] * scale[r], r))
            continue
        chosen: list[int] = []
        covered = 0.0
        while heap and len(chosen) < most and (exact or covered * (1.0 + ROUNDING) < rate):
            r = heapq.heappop(heap)[1]
            chosen.append(r)
            covered += capacity[r]
        for r in chosen:
            load[r] += cost * (capacity[r] / covered)
            heapq.heappush(heap, (load[r] * scale[r], r))
        members.extend(chosen)
        sizes.append(len(chosen))
    return np.array(sizes, dtype=np.int64), np.array(members, dtype=np.int64)


def standbys(
    rate: NDArray[np.float64],
    offsets: NDArray[np.int64],
    members: NDArray[np.int64],
    load: NDArray[np.float64],
    fleet: Fleet,
) -> NDArray[np.int64]:
    """Choose for each key in turn the least loaded destination outside T(b), int64[A]; -1 where T(b) is all.

    The share that a standby would take over, λ_b / k_b, counts as its load for the choices after it, so standbys
    spread over the fleet. Loads are compared by ``fleet.scale``, ties go to the lower index.

    Args:
        rate: float64[A], requests/s.
        offsets: int64[A+1], T of key i is members[offsets[i]:offsets[i+1]].
        members: int64[Σk], destinations.
        load: float64[R], load of the plan.
        fleet: the destinations.
    """
    expected, scale = load.tolist(), fleet.scale.tolist()
    heap = _heap(expected, scale)
    assigned, edges = members.tolist(), offsets.tolist()
    chosen: list[int] = []
    for key_rate, start, end in zip(rate.tolist(), edges[:-1], edges[1:], strict=True):
        own = assigned[start:end]
        aside = _take_out(heap, own) if heap[0][1] in own else ()
        if heap:
            r = heap[0][1]
            expected[r] += key_rate / (end - start)
            heapq.heapreplace(heap, (expected[r] * scale[r], r))
        chosen.append(r if heap else -1)
        for entry in aside:
            heapq.heappush(heap, entry)
    return np.array(chosen, dtype=np.int64)


def _heap(load: list[float], scale: list[float]) -> list[tuple[float, int]]:
    heap = [(load[r] * scale[r], r) for r in range(len(load))]
    heapq.heapify(heap)
    return heap


def _take_out(heap: list[tuple[float, int]], own: list[int]) -> list[tuple[float, int]]:
    """Pop while the least loaded destination is one of ``own``; return what was popped."""
    mine, popped = frozenset(own), []
    while heap and heap[0][1] in mine:
        popped.append(heapq.heappop(heap))
    return popped
