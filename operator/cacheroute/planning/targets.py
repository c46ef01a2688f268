"""Which destinations stand by for the keys of one: few, so that the gateway's table stays small, and others for each.

Keys that share their destination and their standby share one virtual host of the gateway, which costs some KiB of
memory there. Spread over all others, the keys of R destinations would need up to R * (R - 1) of them.
"""

import numpy as np

from cacheroute.planning.pairs import Floats, Ints

_LARGE = 500
_FEW, _MANY = 8, 16
_COLDEST = 2
"""So many of them are the coldest of all: a large key has nowhere else to go."""
_DRAWN = 64
"""The others are the coldest of so many drawn at random."""


def most_targets(destinations: int) -> int:
    """Return how many stand by for one at most: so many that a loss stays within the default limit of 1.15.

    Each takes over an equal part of its load. With 16 that is 6 % of its own and 500 destinations have 8,000 groups;
    more destinations have 8 each, 13 % of its own (docs/decisions/0008-stable.md has the figures).
    """
    return _MANY if destinations <= _LARGE else _FEW


def targets_in_force(former: Ints, fresh: Ints, candidates: Ints, most: int) -> Ints:
    """Return which stand by for a destination, int64[<= most], ascending: those most used, then of ``fresh``.

    Args:
        former: int64[], the standbys of its keys as they are; UNKNOWN where a key has none.
        fresh: int64[], those to fill up with.
        candidates: int64[], destinations that may stand by for it.
        most: how many.
    """
    used, times = np.unique(former[np.isin(former, candidates)], return_counts=True)
    kept = used[np.lexsort((used, -times))][:most]
    more = fresh[~np.isin(fresh, kept)][: most - kept.size]
    return np.sort(np.concatenate((kept, more)))


def fresh_targets(r: int, candidates: Ints, utilisation: Floats, most: int) -> Ints:
    """Return which are to stand by for ``r``, int64[<= most], ascending: a few of the coldest, others at random.

    The draw depends on ``r`` only. The coldest of all would be the same for each: a zone that fails would fall on them.

    Args:
        r: the destination that may be lost.
        candidates: int64[], destinations that may stand by for it.
        utilisation: float64[R], load / capacity of each after the loss, before any key is taken over, in any unit.
        most: how many, > _COLDEST.
    """
    if candidates.size <= most:
        return candidates
    by_heat = candidates[np.argsort(utilisation[candidates], kind="stable")]
    coldest, others = by_heat[:_COLDEST], by_heat[_COLDEST:]
    drawn = np.sort(np.random.default_rng(r).permutation(others.size)[:_DRAWN])
    return np.sort(np.concatenate((coldest, others[drawn[: most - _COLDEST]])))
