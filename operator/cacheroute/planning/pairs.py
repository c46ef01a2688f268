"""An assignment as ascending (key, destination) pairs: what the phases of ``Stable`` pass on to each other."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.errors import PlanningInputError
from cacheroute.planning.types import UNKNOWN, Assignment, Demand, Fleet

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""A relative difference below this is rounding: capacities that add up to a rate but for the last bits cover it."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which key has which destinations; what is derived is computed once.

    Attributes:
        key: int64[P], ascending.
        destination: int64[P], ascending within a key, distinct.
        standby: int64[B], of every key; UNKNOWN where there is none.
    """

    key: Ints
    destination: Ints
    standby: Ints

    @classmethod
    def of(cls, key: Ints, destination: Ints, standby: Ints) -> "Pairs":
        """Return pairs in any order as ascending ones."""
        order = np.lexsort((destination, key))
        return cls(key[order], destination[order], standby)

    @classmethod
    def of_assignment(cls, assignment: Assignment, keys: int, size: int) -> "Pairs":
        """Return the pairs of an assignment; destinations that are gone come first in a key.

        Args:
            assignment: the assignment.
            keys: B.
            size: R.

        Raises:
            PlanningInputError: it names a key or a destination that there is not.
        """
        _require_below(assignment.admitted, 0, keys, "admitted")
        _require_below(assignment.members, UNKNOWN, size, "members")
        _require_below(assignment.standby, UNKNOWN, size, "standby")
        key = np.repeat(assignment.admitted, np.diff(assignment.offsets))
        standby = np.full(keys, UNKNOWN)
        standby[assignment.admitted] = assignment.standby
        return cls.of(key, assignment.members, standby)

    @cached_property
    def counts(self) -> Ints:
        """k_b of every key, int64[B]; 0 where it is not admitted."""
        return np.bincount(self.key, minlength=self.standby.size)

    @cached_property
    def group(self) -> Ints:
        """How many other keys come before that of each pair, int64[P]."""
        group: Ints = np.cumsum(np.diff(self.key, prepend=self.key[:1]) > 0)
        return group

    def code(self, size: int) -> Ints:
        """Return key * size + destination, int64[P], ascending."""
        code: Ints = self.key * size + self.destination
        return code

    def where(self, kept: NDArray[np.bool_]) -> "Pairs":
        """Return the pairs of a mask, bool[P]."""
        return Pairs(self.key[kept], self.destination[kept], self.standby)

    def extended(self, key: Ints, destination: Ints) -> "Pairs":
        """Return these and further pairs, ascending."""
        if key.size == 0:
            return self
        return Pairs.of(
            np.concatenate((self.key, key)), np.concatenate((self.destination, destination)), self.standby
        )

    def members(self, keys: Ints) -> dict[int, list[int]]:
        """Return the destinations of each of ``keys``, ascending; none for one that has none."""
        found: dict[int, list[int]] = {key: [] for key in keys.tolist()}
        here = np.isin(self.key, keys)
        for key, r in zip(self.key[here].tolist(), self.destination[here].tolist(), strict=True):
            found[key].append(r)
        return found

    def with_standby(self, standby: Ints) -> "Pairs":
        """Return the pairs with other standbys, int64[B]."""
        return Pairs(self.key, self.destination, standby)

    def has(self, key: Ints, destination: Ints, size: int) -> NDArray[np.bool_]:
        """Tell which of these (key, destination) are pairs here, bool of the shape of ``key``."""
        wanted, known = key * size + destination, self.code(size)
        at = np.searchsorted(known, wanted)
        found: NDArray[np.bool_] = np.zeros(wanted.shape, dtype=np.bool_)
        inside = at < known.size
        found[inside] = known[at[inside]] == wanted[inside]
        return found


def _require_below(index: Ints, lowest: int, end: int, name: str) -> None:
    if index.size and not lowest <= index.min() <= index.max() < end:
        raise PlanningInputError(
            f"previous.{name} must be {lowest}..{end - 1}; it has {index.min()}..{index.max()}"
        )


def add_up(index: Ints, weight: Floats, size: int) -> Floats:
    """Return the sum of ``weight`` at each index, float64[size]; np.bincount gives integers where nothing is added."""
    return np.bincount(index, weights=weight, minlength=size).astype(np.float64, copy=False)


def covered(pairs: Pairs, fleet: Fleet) -> Floats:
    """Return the rate that each key's destinations can carry, float64[B], requests/s."""
    return add_up(pairs.key, fleet.capacity[pairs.destination], pairs.standby.size) * (1.0 + ROUNDING)


def shares(pairs: Pairs, weight: Floats, fleet: Fleet) -> Floats:
    """Return how much of each key's weight goes to each of its destinations, float64[P].

    Among destinations that are present, in proportion to their capacity: a proxy that keeps the number of active
    requests equal sends each of them requests at a rate inverse to its latency. 0 on those that are absent.
    """
    here = (fleet.relative * fleet.present)[pairs.destination]
    whole = add_up(pairs.group, here, pairs.key.size)[pairs.group]
    part = np.divide(here, whole, out=np.zeros_like(here), where=whole > 0)
    share: Floats = weight[pairs.key] * part
    return share


def loads(pairs: Pairs, demand: Demand, fleet: Fleet) -> Floats:
    """Return the expected cost/s of each destination, float64[R]; absent ones have none.

    Keys without a present destination are at their standby, or else in the cold tail, which is spread over all
    present destinations in proportion to their capacity.
    """
    return _loads(pairs, demand.cost, demand.unkeyed_cost, fleet)


def loads_without(keys: Ints, pairs: Pairs, demand: Demand, fleet: Fleet) -> Floats:
    """Return ``loads`` as if ``keys`` had no traffic: what there is before they are placed."""
    cost = demand.cost.copy()
    cost[keys] = 0.0
    return _loads(pairs, cost, demand.unkeyed_cost, fleet)


def _loads(pairs: Pairs, cost: Floats, unkeyed: float, fleet: Fleet) -> Floats:
    load = add_up(pairs.destination, shares(pairs, cost, fleet), fleet.size)
    served = np.zeros(cost.size, dtype=np.bool_)
    served[pairs.key[fleet.present[pairs.destination]]] = True
    taken_over = np.unique(pairs.key[~served[pairs.key]])
    taken_over = taken_over[pairs.standby[taken_over] >= 0]
    taken_over = taken_over[fleet.present[pairs.standby[taken_over]]]
    load += add_up(pairs.standby[taken_over], cost[taken_over], fleet.size)
    served[taken_over] = True
    return load + _cold(cost[~served], unkeyed, fleet)


def _cold(cost: Floats, unkeyed: float, fleet: Fleet) -> Floats:
    """Return what each destination has of the cold tail, float64[R], cost/s; ``cost`` is that of its keys.

    It is summed in ascending order, so that the names of keys do not decide the last bits.
    """
    cost.sort()
    tail = float(cost.sum()) + unkeyed
    capacity = fleet.relative * fleet.present
    whole = capacity.sum()
    spread: Floats = tail * (capacity / whole) if whole > 0 else np.zeros(fleet.capacity.size)
    return spread
