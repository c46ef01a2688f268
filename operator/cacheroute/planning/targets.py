"""Which destinations stand by for the keys of one: few, so that the gateway's table stays small, and others for each.

Keys that share their destination and their standby share one virtual host of the gateway, which costs some KiB of
memory there. Spread over all others, the keys of R destinations would need up to R * (R - 1) of them.
"""

import numpy as np

from cacheroute.planning.pairs import Floats, Ints

MAX_TARGETS = 16
"""Destinations that stand by for one. Each takes over 1/16 of its load, 6 % of its own, which leaves room within the
default limit of 1.15; 30 destinations have 480 groups, 1,000 have 16,000."""
_COLDEST = 2
"""So many of them are the coldest of all: a large key has nowhere else to go."""
_DRAWN = 64
"""The others are the coldest of so many drawn at random."""


def targets_in_force(former: Ints, fresh: Ints, candidates: Ints) -> Ints:
    """Return which stand by for a destination, int64[<= MAX_TARGETS], ascending: those most used, then of ``fresh``.

    Args:
        former: int64[], the standbys of its keys as they are; UNKNOWN where a key has none.
        fresh: int64[<= MAX_TARGETS], those to fill up with.
        candidates: int64[], destinations that may stand by for it.
    """
    used, times = np.unique(former[np.isin(former, candidates)], return_counts=True)
    kept = used[np.lexsort((used, -times))][:MAX_TARGETS]
    more = fresh[~np.isin(fresh, kept)][: MAX_TARGETS - kept.size]
    return np.sort(np.concatenate((kept, more)))


def fresh_targets(r: int, candidates: Ints, utilisation: Floats) -> Ints:
    """Return which are to stand by for ``r``, int64[<= MAX_TARGETS], ascending: a few of the coldest, others at random.

    The draw depends on ``r`` only. The coldest of all would be the same for each: a zone that fails would fall on them.

    Args:
        r: the destination that may be lost.
        candidates: int64[], destinations that may stand by for it.
        utilisation: float64[R], load / capacity of each after the loss, before any key is taken over, in any unit.
    """
    if candidates.size <= MAX_TARGETS:
        return candidates
    by_heat = candidates[np.argsort(utilisation[candidates], kind="stable")]
    coldest, others = by_heat[:_COLDEST], by_heat[_COLDEST:]
    drawn = np.sort(np.random.default_rng(r).permutation(others.size)[:_DRAWN])
    return np.sort(np.concatenate((coldest, others[drawn[: MAX_TARGETS - _COLDEST]])))
