"""Which (key, destination) pairs came and went between two assignments, each with its reason."""

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.pairs import Ints, Pairs, shares
from cacheroute.planning.report import Cause, Changes
from cacheroute.planning.types import UNKNOWN, Demand, Fleet

_Causes = NDArray[np.int8]


def changes_between(
    before: Pairs, after: Pairs, demand: Demand, fleet: Fleet, because: tuple[_Causes, _Causes]
) -> Changes:
    """Return one row for each pair that came or went; what a key lost and got is paired in ascending order.

    A destination that is gone and that nothing replaces has a row without either end.

    Args:
        before: the assignment in force; destinations may be UNKNOWN, gone.
        after: the new one.
        demand: rates.
        fleet: the destinations.
        because: int8[B] each: why a key moved, and why it got more or fewer destinations; 0 for no reason given.
            What replaces a lost destination is not called more.
    """
    known = before.where(before.destination != UNKNOWN)
    gone = known.key.size < before.key.size
    came = ~known.has(after.key, after.destination, fleet.size)
    went = ~after.has(known.key, known.destination, fleet.size)
    got, left = after.where(came), known.where(went)
    rate = shares(after, demand.rate, fleet)[came]
    lost_rate = shares(known, demand.rate, fleet)[went]
    source = _partner(got.key, left.key, left.destination)
    alone = _partner(left.key, got.key, got.destination) == UNKNOWN
    key = np.concatenate((got.key, left.key[alone]))
    cause = _cause(key, np.concatenate((source, left.destination[alone])), got.key.size, because)
    replaced = _replaces_lost(before, known, got, left, source) & (because[0][got.key] == Cause.LOST)
    cause[: got.key.size][replaced] = Cause.LOST
    rows = Changes(
        key=key,
        cause=cause,
        source=np.concatenate((source, left.destination[alone])),
        target=np.concatenate((got.destination, np.full(int(alone.sum()), UNKNOWN))),
        rate=np.concatenate((rate, lost_rate[alone])),
    )
    lost = got.key[replaced] if gone else got.key[:0]
    return _sorted(Changes.joined((rows, _unreplaced(before, after, lost, because[1]))) if gone else rows)


def _unreplaced(before: Pairs, after: Pairs, replaced: Ints, counted: _Causes) -> Changes:
    """Return a row for each destination that is gone and has no successor; ``replaced`` are keys, one for each that has."""
    keys, number = np.unique(before.key[before.destination == UNKNOWN], return_counts=True)
    missing = np.maximum(number - _number(np.sort(replaced), keys), 0)
    key = np.repeat(keys, missing)
    left = after.counts[key] == 0
    nowhere = np.full(key.size, UNKNOWN)
    return Changes(
        key=key,
        cause=np.where(left & (counted[key] != 0), counted[key], Cause.LOST).astype(np.int8),
        source=nowhere,
        target=nowhere,
        rate=np.zeros(key.size),
    )


def _cause(key: Ints, source: Ints, arrivals: int, because: tuple[_Causes, _Causes]) -> _Causes:
    moved, counted = because[0][key], because[1][key]
    both = (np.arange(key.size) < arrivals) & (source != UNKNOWN)
    moved = np.where(moved == 0, Cause.BALANCED, moved)
    cause: _Causes = np.where(both | (counted == 0), moved, counted).astype(np.int8)
    return cause


def _rank(key: Ints) -> Ints:
    """Return the position of each row within its key; ``key`` ascends."""
    rank: Ints = np.arange(key.size) - np.searchsorted(key, key)
    return rank


def _replaces_lost(before: Pairs, known: Pairs, got: Pairs, left: Pairs, source: Ints) -> NDArray[np.bool_]:
    """Tell which of ``got`` come for a destination that is gone: the first of those without a source."""
    gone = _number(before.key, got.key) - _number(known.key, got.key)
    rank = _rank(got.key) - _number(left.key, got.key)
    replaces: NDArray[np.bool_] = (source == UNKNOWN) & (rank < gone)
    return replaces


def _number(keys: Ints, key: Ints) -> Ints:
    """Return how often each ``key`` is in ``keys``, which ascend."""
    number: Ints = np.searchsorted(keys, key, side="right") - np.searchsorted(keys, key)
    return number


def _partner(key: Ints, other_key: Ints, other: Ints) -> Ints:
    """Return ``other`` at the same key and rank, UNKNOWN where there is none."""
    partner = np.full(key.size, UNKNOWN)
    if other_key.size and key.size:
        at = np.searchsorted(other_key, key) + _rank(key)
        inside = at < other_key.size
        same = np.zeros(key.size, dtype=np.bool_)
        same[inside] = other_key[at[inside]] == key[inside]
        partner[same] = other[at[same]]
    return partner


def _sorted(rows: Changes) -> Changes:
    order = np.lexsort((rows.target, rows.source, rows.key))
    return Changes(
        rows.key[order], rows.cause[order], rows.source[order], rows.target[order], rows.rate[order]
    )
