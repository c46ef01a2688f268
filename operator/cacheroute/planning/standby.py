"""Phase 6 of ``Stable``: who takes over a key, so that the load stays balanced after any single loss (N-1 balance).

A key with one destination is taken over whole by its standby. One with several is shared by those that are left; its
standby matters only when all are lost. Standbys of the plan in force stay where they do no harm.
"""

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.pairs import Floats, Ints, Pairs, add_up, loads_without, shares
from cacheroute.planning.placement import least_utilised
from cacheroute.planning.report import LossReport
from cacheroute.planning.targets import fresh_targets, most_targets, targets_in_force
from cacheroute.planning.types import UNKNOWN, Demand, Fleet

_STRICTLY = 1e-9


def choose_standbys(
    pairs: Pairs, load: Floats, demand: Demand, fleet: Fleet, limit: float
) -> tuple[Pairs, LossReport]:
    """Return the pairs with a standby for every admitted key, and what a single loss does.

    The standbys of one destination's keys are spread over the others by LPT on top of the load that these have
    anyway; outside the destination's zone and node where that is possible. Those in force stay unless the imbalance
    after that loss exceeds ``limit`` and spreading anew lowers it.

    Args:
        pairs: the assignment, with the standbys in force.
        load: float64[R], what it makes.
        demand: costs.
        fleet: the destinations.
        limit: imbalance that is accepted after a loss, >= 1.
    """
    standby = _usable(pairs, fleet)
    losses = _Losses.of(pairs, load, demand, fleet)
    _stand_by_for_shared(losses, standby)
    worst, of = 0.0, UNKNOWN
    for r in np.flatnonzero(fleet.present).tolist():
        after = _spread_one(losses, r, standby, limit)
        if after > worst:
            worst, of = after, r
    admitted = pairs.counts > 0
    standby[~admitted] = UNKNOWN
    return pairs.with_standby(standby), LossReport(
        imbalance=worst,
        destination=of,
        keys=int(np.count_nonzero(standby[admitted] == UNKNOWN)),
        changed=int(np.count_nonzero(standby[admitted] != pairs.standby[admitted])),
    )


def stand_in(pairs: Pairs, demand: Demand, fleet: Fleet) -> Pairs:
    """Return the pairs with a usable standby for every key whose destinations are all absent.

    It serves the key now, so it is chosen before loads are balanced: by LPT; those in force stay.
    """
    if fleet.present.all() or not fleet.present.any():
        return pairs
    here = np.zeros(demand.size, dtype=np.bool_)
    here[pairs.key[fleet.present[pairs.destination]]] = True
    waiting = np.flatnonzero((pairs.counts > 0) & ~here)
    if waiting.size == 0:
        return pairs
    standby = pairs.standby.copy()
    standby[waiting] = _usable(pairs, fleet)[waiting]
    without = waiting[standby[waiting] == UNKNOWN]
    load = loads_without(without, pairs.with_standby(standby), demand, fleet)
    for key in without[np.lexsort((without, -demand.cost[without]))].tolist():
        standby[key] = least_utilised(load, fleet, set())
        load[standby[key]] += demand.cost[key]
    return pairs.with_standby(standby)


def _usable(pairs: Pairs, fleet: Fleet) -> Ints:
    """Return the standbys in force that can still take over: there, and not already one of the key's own."""
    standby = pairs.standby.copy()
    known = np.flatnonzero(standby >= 0)
    bad = pairs.has(known, standby[known], fleet.size) | ~fleet.present[standby[known]]
    standby[known[bad]] = UNKNOWN
    return standby


@dataclass(frozen=True, slots=True, eq=False)
class _Losses:
    """What is needed to tell the load after a loss.

    Attributes:
        load: float64[R], now.
        cost: float64[B].
        fleet: the destinations.
        sole: for each destination the keys that no other present destination has.
        shared: keys with several present destinations, int64[], ascending, and all destinations of each.
        falling: for each destination int64[] and float64[]: to whom, and how much, its shared keys go.
    """

    load: Floats
    cost: Floats
    fleet: Fleet
    sole: list[Ints]
    shared: list[tuple[int, Ints]]
    falling: list[tuple[Ints, Floats]]

    @classmethod
    def of(cls, pairs: Pairs, load: Floats, demand: Demand, fleet: Fleet) -> "_Losses":
        here = pairs.where(fleet.present[pairs.destination])
        number = here.counts[here.key]
        alone = here.where(number == 1)
        order = np.argsort(alone.destination, kind="stable")
        edges = np.searchsorted(alone.destination[order], np.arange(fleet.size + 1))
        sole = [alone.key[order[start:end]] for start, end in itertools.pairwise(edges)]
        shared = here.where(number > 1)
        keys, starts = np.unique(shared.key, return_index=True)
        members = np.split(shared.destination, starts[1:]) if keys.size else []
        return cls(
            load=load,
            cost=demand.cost,
            fleet=fleet,
            sole=sole,
            shared=list(zip(keys.tolist(), members, strict=True)),
            falling=_falling(shared, members, demand, fleet),
        )

    def before_takeover(self, r: int) -> Floats:
        """Return load / capacity after the loss of ``r`` without what standbys take over, float64[R], relative."""
        targets, amounts = self.falling[r]
        utilisation: Floats = (self.load + add_up(targets, amounts, self.fleet.size)) * self.fleet.scale
        return utilisation

    def taken_over(self, r: int, standby: Ints) -> Floats:
        """Return what others take over from ``r`` of its shared keys and of those with a standby, float64[R]."""
        size = self.fleet.size
        targets, amounts = self.falling[r]
        keys = self.sole[r]
        keys = keys[standby[keys] >= 0]
        taken: Floats = add_up(targets, amounts, size) + add_up(standby[keys], self.cost[keys], size)
        return taken

    def without(self, r: int, standby: Ints) -> Floats:
        """Return the load after the loss of ``r``, float64[R]; that of ``r`` is 0."""
        after = self.taken_over(r, standby)
        rest = self.load[r] - float(after.sum())
        after += self.load
        after[r] = 0.0
        capacity = self._capacity(r)
        whole = float(capacity.sum())
        return after + max(rest, 0.0) * (capacity / whole) if whole > 0 else np.zeros(self.fleet.size)

    def imbalance(self, r: int, after: Floats) -> float:
        """Return max / mean of what is left after the loss of ``r``."""
        capacity = self._capacity(r)
        left = capacity > 0
        whole = float(capacity.sum())
        mean = float(after[left].sum()) / whole if whole > 0 else 0.0
        return float((after[left] / capacity[left]).max()) / mean if mean > 0 else 0.0

    def least(self, r: int, candidates: Ints) -> float:
        """Return an imbalance that no choice of standbys can beat: the largest key goes somewhere whole."""
        targets, amounts = self.falling[r]
        base = self.load + add_up(targets, amounts, self.fleet.size)
        base[r] = 0.0
        capacity = self._capacity(r)
        keys = self.sole[r]
        largest = float(self.cost[keys].max()) if keys.size else 0.0
        left = capacity > 0
        mean = float(self.load.sum()) / float(capacity.sum()) if left.any() else 0.0
        if mean <= 0:
            return 0.0
        lowest = float(((base[candidates] + largest) / capacity[candidates]).min())
        return max(lowest, float((base[left] / capacity[left]).max())) / mean

    def _capacity(self, r: int) -> Floats:
        capacity = self.fleet.relative * self.fleet.present
        capacity[r] = 0.0
        return capacity


def _falling(shared: Pairs, members: list[Ints], demand: Demand, fleet: Fleet) -> list[tuple[Ints, Floats]]:
    share, relative = shares(shared, demand.cost, fleet), fleet.relative
    targets: list[list[Ints]] = [[] for _ in range(fleet.size)]
    amounts: list[list[Floats]] = [[] for _ in range(fleet.size)]
    start = 0
    for group in members:
        capacity = relative[group]
        whole = float(capacity.sum())
        for at, r in enumerate(group.tolist()):
            others = np.delete(group, at)
            targets[r].append(others)
            amounts[r].append(share[start + at] * relative[others] / (whole - capacity[at]))
        start += group.size
    empty = (np.empty(0, dtype=np.int64), np.empty(0))
    return [
        (np.concatenate(to), np.concatenate(much)) if to else empty
        for to, much in zip(targets, amounts, strict=True)
    ]


def _stand_by_for_shared(losses: _Losses, standby: Ints) -> None:
    """Give keys with several destinations the least loaded one outside them, by decreasing cost, counting what each may take over."""
    expected = losses.load.copy()
    for key, members in sorted(losses.shared, key=lambda one: (-losses.cost[one[0]], one[0])):
        if standby[key] == UNKNOWN:
            candidates = _candidates(members, losses.fleet)
            if candidates.size:
                utilisation = expected[candidates] * losses.fleet.scale[candidates]
                standby[key] = candidates[np.argmin(utilisation)]
        if standby[key] != UNKNOWN:
            expected[standby[key]] += losses.cost[key] / members.size


def _spread_one(losses: _Losses, r: int, standby: Ints, limit: float) -> float:
    """Choose the standbys of the keys that only ``r`` has; return the imbalance after its loss."""
    keys = losses.sole[r]
    candidates = _candidates(np.array([r]), losses.fleet)
    most = most_targets(losses.fleet.size)
    fresh = fresh_targets(r, candidates, losses.before_takeover(r), most)
    if candidates.size:
        targets = targets_in_force(standby[keys], fresh, candidates, most)
        misplaced = keys[~np.isin(standby[keys], targets)]
        standby[misplaced] = UNKNOWN
        _spread(losses, r, misplaced, targets, standby)
    after = losses.imbalance(r, losses.without(r, standby))
    if after > limit and candidates.size and after > (1 + _STRICTLY) * losses.least(r, fresh):
        anew = standby.copy() if keys.size > standby.size // 2 else standby
        former = standby[keys].copy()
        anew[keys] = UNKNOWN
        _spread(losses, r, keys, fresh, anew)
        better = losses.imbalance(r, losses.without(r, anew))
        standby[keys] = anew[keys] if better < after * (1 - _STRICTLY) else former
        after = min(after, better)
    return after


def _spread(losses: _Losses, r: int, keys: Ints, candidates: Ints, standby: Ints) -> None:
    """Give ``keys``, which have none, their standbys by LPT; ties by index."""
    if keys.size == 0:
        return
    scale = losses.fleet.scale
    base = (losses.load + losses.taken_over(r, standby))[candidates]
    heap = list(zip((base * scale[candidates]).tolist(), candidates.tolist(), strict=True))
    heapq.heapify(heap)
    scales = scale.tolist()
    cost = losses.cost[keys]
    ordered = np.lexsort((keys, -cost))
    for key, amount in zip(keys[ordered].tolist(), cost[ordered].tolist(), strict=True):
        utilisation, target = heap[0]
        standby[key] = target
        heapq.heapreplace(heap, (utilisation + amount * scales[target], target))


def _candidates(members: Ints, fleet: Fleet) -> Ints:
    """Return the present destinations outside ``members``; in other zones and nodes where there are such."""
    outside: NDArray[np.bool_] = fleet.present.copy()
    outside[members] = False
    apart = outside & ~np.isin(fleet.node, fleet.node[members])
    known = fleet.zone[members][fleet.zone[members] >= 0]
    for preferred in (apart & ~np.isin(fleet.zone, known), apart, outside):
        if preferred.any():
            return np.flatnonzero(preferred)
    return np.empty(0, dtype=np.int64)
