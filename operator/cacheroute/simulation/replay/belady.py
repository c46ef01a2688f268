"""Belady's rule where objects differ in size, compiled: who is needed latest for its size goes.

Of 128 objects taken by chance, the one with the largest product of its size and the time to its next use, as
libCacheSim's BeladySize does. That one is not used because it can loop without an end where an object grows.
"""

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.replay.block_cache import NEVER, next_uses
from cacheroute.simulation.routing.chance import below

SAMPLES = 128
_SEED = 0x9E3779B97F4A7C15
Ints = NDArray[np.int64]


def sized_belady(objects: Ints, sizes: Ints, capacity: int) -> NDArray[np.bool_]:
    """Return which accesses find their object in a cache of ``capacity``, bool[M].

    Objects are as large as they were when they came in. Those that are larger than the cache, or are never needed again,
    do not come in.
    """
    dense = np.unique(objects, return_inverse=True)[1].astype(np.int64)
    found = np.zeros(objects.size, dtype=np.bool_)
    random = np.array([_SEED], dtype=np.uint64)
    _run(dense, sizes.astype(np.int64), next_uses(objects), capacity, random, found)
    return found


@compiled
def _run(
    objects: Ints,
    sizes: Ints,
    following: Ints,
    capacity: int,
    random: NDArray[np.uint64],
    found: NDArray[np.bool_],
) -> None:
    distinct = objects.max() + 1 if objects.size else 0
    place, size, needed = np.full(distinct, -1), np.zeros(distinct, np.int64), np.zeros(distinct, np.int64)
    held, count, used = np.zeros(distinct, np.int64), 0, 0
    for now in range(objects.size):
        one = objects[now]
        if place[one] >= 0:
            found[now], needed[one] = True, following[now]
            if following[now] == NEVER:
                count, used = _remove(held, place, count, one), used - size[one]
        elif sizes[now] <= capacity and following[now] != NEVER:
            while used + sizes[now] > capacity:
                gone = _latest(held, count, size, needed, now, random)
                count, used = _remove(held, place, count, gone), used - size[gone]
            place[one], held[count], size[one], needed[one] = count, one, sizes[now], following[now]
            count, used = count + 1, used + sizes[now]


@compiled
def _latest(held: Ints, count: int, size: Ints, needed: Ints, now: int, random: NDArray[np.uint64]) -> int:
    """Return the object with the largest size times time to its next use, of all where they are few."""
    best, most = held[0], -1
    for sample in range(min(SAMPLES, count)):
        one = held[sample if count <= SAMPLES else below(random, count)]
        cost = (needed[one] - now) * size[one]
        if cost > most:
            best, most = one, cost
    return int(best)


@compiled
def _remove(held: Ints, place: Ints, count: int, one: int) -> int:
    """Take an object out; return how many are left."""
    last = held[count - 1]
    held[place[one]], place[last] = last, place[one]
    place[one] = -1
    return count - 1
