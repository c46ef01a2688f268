"""Session caches of all destinations: each keeps the newest turn of the sessions it served, least recent out first.

An entry is one session at one destination. It stands in two lists: that of its destination, by recency, and that of
its session, so that the holders of a session are found without looking at every destination.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.routing.view import View
from cacheroute.simulation.struct import struct

NONE = -1
"""End of a list."""


@struct
class Caches(NamedTuple):
    """Entries as columns of E rows; rows that are free are a list of their own, chained by ``sibling``."""

    session: NDArray[np.int64]
    at: NDArray[np.int64]
    """Destination."""
    tokens: NDArray[np.int64]
    older: NDArray[np.int64]
    newer: NDArray[np.int64]
    sibling: NDArray[np.int64]
    """The next entry of the same session."""
    oldest: NDArray[np.int64]
    """int64[R]"""
    newest: NDArray[np.int64]
    """int64[R]"""
    first: NDArray[np.int64]
    """int64[S], first entry of each session."""
    free: NDArray[np.int64]
    """int64[1], first free row."""


def caches(destinations: int, sessions: int, entries: int) -> Caches:
    """Return empty caches for so many entries, as many as requests are enough."""
    none = [np.full(entries, NONE, dtype=np.int64) for _ in range(5)]
    chain = np.arange(1, entries + 1, dtype=np.int64)
    chain[-1:] = NONE
    return Caches(
        session=none[0],
        at=none[1],
        tokens=none[2],
        older=none[3],
        newer=none[4],
        sibling=chain,
        oldest=np.full(destinations, NONE, dtype=np.int64),
        newest=np.full(destinations, NONE, dtype=np.int64),
        first=np.full(sessions, NONE, dtype=np.int64),
        free=np.zeros(1, dtype=np.int64),
    )


@compiled
def mark_matches(caches: Caches, view: View, session: int, prompt: int) -> None:
    """Write into ``view.match`` how much of the prompt each destination holds; it must be all 0 before."""
    entry = caches.first[session]
    while entry != NONE:
        view.match[caches.at[entry]] = min(caches.tokens[entry], prompt)
        entry = caches.sibling[entry]


@compiled
def clear_matches(caches: Caches, view: View, session: int) -> None:
    """Make ``view.match`` all 0 again."""
    entry = caches.first[session]
    while entry != NONE:
        view.match[caches.at[entry]] = 0
        entry = caches.sibling[entry]


@compiled
def store(caches: Caches, view: View, r: int, session: int, tokens: int) -> None:
    """Make ``tokens`` the newest entry of destination ``r``; evict its oldest ones until it fits.

    The newest entry stays even where it alone is larger than the capacity: so did the simulator of arXiv 2608.13573.
    """
    entry = caches.first[session]
    while entry != NONE and caches.at[entry] != r:
        entry = caches.sibling[entry]
    if entry == NONE:
        entry = _new_entry(caches, r, session)
    else:
        _unlink(caches, r, entry)
        view.cached[r] -= caches.tokens[entry]
    caches.tokens[entry] = tokens
    view.cached[r] += tokens
    _append(caches, r, entry)
    while view.cached[r] > view.capacity[r] and caches.oldest[r] != entry:
        _evict(caches, view, r)


@compiled
def _new_entry(caches: Caches, r: int, session: int) -> int:
    entry = caches.free[0]
    caches.free[0] = caches.sibling[entry]
    caches.session[entry] = session
    caches.at[entry] = r
    caches.sibling[entry] = caches.first[session]
    caches.first[session] = entry
    return int(entry)


@compiled
def _append(caches: Caches, r: int, entry: int) -> None:
    last = caches.newest[r]
    caches.older[entry], caches.newer[entry] = last, NONE
    if last == NONE:
        caches.oldest[r] = entry
    else:
        caches.newer[last] = entry
    caches.newest[r] = entry


@compiled
def _unlink(caches: Caches, r: int, entry: int) -> None:
    older, newer = caches.older[entry], caches.newer[entry]
    if older == NONE:
        caches.oldest[r] = newer
    else:
        caches.newer[older] = newer
    if newer == NONE:
        caches.newest[r] = older
    else:
        caches.older[newer] = older


@compiled
def _evict(caches: Caches, view: View, r: int) -> None:
    entry = caches.oldest[r]
    session = caches.session[entry]
    _unlink(caches, r, entry)
    view.cached[r] -= caches.tokens[entry]
    if caches.first[session] == entry:
        caches.first[session] = caches.sibling[entry]
    else:
        before = caches.first[session]
        while caches.sibling[before] != entry:
            before = caches.sibling[before]
        caches.sibling[before] = caches.sibling[entry]
    caches.sibling[entry] = caches.free[0]
    caches.free[0] = entry


@compiled
def empty(caches: Caches, view: View, r: int) -> None:
    """Drop everything that a destination holds: it was lost or restarted."""
    while caches.oldest[r] != NONE:
        _evict(caches, view, r)
