"""When things were last seen, part by part: pairs of user and model, sessions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST = 5_000_000
"""Things that are followed; later ones are not, so that memory is bounded."""


class Returned(NamedTuple):
    """What was known of N things when they came."""

    before: Floats
    """float64[N], when each came before; NaN the first time."""
    carried: Ints
    """int64[N], what it carried then; 0 the first time."""
    nth: Ints
    """int64[N], how often it came before."""


class Seen:
    """Each thing that came: when last, how often, and what it carried."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self.thing: Ints = np.empty(0, dtype=np.int64)
        """int64[T], ascending."""
        self.last: Floats = np.empty(0)
        self.count: Ints = np.empty(0, dtype=np.int64)
        self.carried: Ints = np.empty(0, dtype=np.int64)
        self.missed = 0
        """Requests of things that were not followed any more."""

    def add(self, thing: Ints, time: Floats, carried: Ints) -> Returned:
        """Take note of the next N things, by time, and return what was known before."""
        if not thing.size:
            return Returned(np.empty(0), thing, thing)
        order = np.argsort(thing, kind="stable")
        ordered = thing[order]
        first = np.diff(ordered, prepend=ordered[:1] - 1) != 0
        known = self._known(ordered[first])
        group = np.cumsum(first) - 1
        start = np.flatnonzero(first)
        nth = np.arange(thing.size) - start[group] + known.nth[group]
        before = np.where(first, known.before[group], np.roll(time[order], 1))
        tail = np.where(first, known.carried[group], np.roll(carried[order], 1))
        ends = np.append(start[1:], thing.size) - 1
        self._keep(ordered[first], time[order][ends], nth[ends] + 1, carried[order][ends])
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return Returned(before[back], tail[back], nth[back])

    def _known(self, things: Ints) -> Returned:
        at = np.searchsorted(self.thing, things)
        found = np.zeros(things.size, dtype=np.bool_)
        inside = at < self.thing.size
        found[inside] = self.thing[at[inside]] == things[inside]
        result = Returned(
            np.full(things.size, np.nan), np.zeros(things.size, np.int64), np.zeros(things.size, np.int64)
        )
        for to, kept in zip(result, (self.last, self.carried, self.count), strict=True):
            to[found] = kept[at[found]]
        return result

    def _keep(self, things: Ints, last: Floats, count: Ints, carried: Ints) -> None:
        at = np.searchsorted(self.thing, things)
        at_known = np.minimum(at, max(self.thing.size - 1, 0))
        old = self.thing[at_known] == things if self.thing.size else np.zeros(things.size, dtype=np.bool_)
        for to, now in ((self.last, last), (self.count, count), (self.carried, carried)):
            to[at[old]] = now[old]
        new = np.flatnonzero(~old)
        room = self._most - self.thing.size
        self.missed += int(count[new[room:]].sum()) if new.size > room else 0
        new = new[:room]
        if new.size:
            self.thing = np.insert(self.thing, at[new], things[new])
            self.last = np.insert(self.last, at[new], last[new])
            self.count = np.insert(self.count, at[new], count[new])
            self.carried = np.insert(self.carried, at[new], carried[new])
