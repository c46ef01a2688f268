"""Which keys get destinations, and how many (Algorithm 1 of CacheRoute, equations 2 and 3)."""

import itertools

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.types import Fleet


def counts(rate: NDArray[np.float64], fleet: Fleet) -> NDArray[np.int64]:
    """Return k_b = max(1, ceil(λ_b / q_cap)), at most R (equation 2), int64 of the shape of ``rate``.

    q_cap is the smallest capacity of the fleet: on any k_b destinations the key finds room.
    """
    with np.errstate(over="ignore"):  # a quotient too large for a float64 is capped at R like any other
        needed = np.ceil(rate / fleet.capacity.min())
    count: NDArray[np.int64] = np.clip(needed, 1, fleet.size).astype(np.int64)
    return count


def admit(
    rate: NDArray[np.float64], fleet: Fleet, *, stop_at_first: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Admit keys by decreasing rate, ties by index, while Σk <= C (equation 3).

    A key takes at least one slot, so the C highest rates are looked at first, and more only where skipped keys
    leave slots over.

    Args:
        rate: float64[B], requests/s.
        fleet: its slots are C.
        stop_at_first: end at the first key that does not fit, instead of skipping it.

    Returns:
        int64[A] keys in the order of admission, int64[A] their counts, and the number of keys refused while slots
        were left.
    """
    slots = fleet.slots
    everyone, reach = np.arange(rate.size), min(slots, rate.size)
    while True:
        order = highest(everyone, rate, reach)
        count = counts(rate[order], fleet)
        taken, left = _fit(count, slots, stop_at_first=stop_at_first)
        if left == 0 or order.size == rate.size or (stop_at_first and not taken.all()):
            break
        reach = min(2 * order.size, rate.size)
    skipped = 0 if stop_at_first else _skipped(taken, left)
    return order[taken], count[taken], skipped


def highest(keys: NDArray[np.int64], score: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Return at least ``number`` of ``keys``, ascending, by decreasing score, ties by index and never cut.

    Args:
        keys: int64[], to choose from.
        score: float64[B], of every key.
        number: 0 for none.
    """
    if number == 0:
        return keys[:0]
    if number < keys.size:
        values = score[keys]
        threshold = np.partition(values, keys.size - number)[keys.size - number]
        keys = keys[values >= threshold]
    return keys[np.argsort(-score[keys], kind="stable")]


def _fit(count: NDArray[np.int64], slots: int, *, stop_at_first: bool) -> tuple[NDArray[np.bool_], int]:
    """Mark the keys that fit; counts fall along the order, so each run of equal counts is cut at one place.

    Returns:
        bool mask of the shape of ``count``, and the slots left over.
    """
    taken = np.zeros(count.size, dtype=np.bool_)
    edges = [*np.flatnonzero(np.diff(count, prepend=0)).tolist(), count.size]
    for start, end in itertools.pairwise(edges):
        needed = int(count[start])
        fitting = min(end - start, slots // needed)
        taken[start : start + fitting] = True
        slots -= fitting * needed
        if slots == 0 or (stop_at_first and fitting < end - start):
            break
    return taken, slots


def _skipped(taken: NDArray[np.bool_], left: int) -> int:
    """Count the keys refused while slots were left: all before the last one taken, or all where some remain."""
    if left:
        return int(np.count_nonzero(~taken))
    last = np.flatnonzero(taken)
    return int(last[-1] + 1 - last.size) if last.size else 0
