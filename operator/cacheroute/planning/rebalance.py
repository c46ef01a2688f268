"""Phase 5 of ``Stable``: few moves and swaps from the hottest destinations until none is above the limit.

A local search: from the destination with the highest load / capacity, the move or one-for-one swap with the best
ratio of min(gain, overload) to moved rate, as long as one is above 1 + ε times the fleet's mean and the budget lasts.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.measures import imbalance
from cacheroute.planning.pairs import Floats, Ints, Pairs, loads, shares
from cacheroute.planning.report import RebalanceReport, Stop
from cacheroute.planning.types import Demand, Fleet

_TARGETS = 32
"""Coldest destinations that are looked at for one move."""
_PASSES = 8
_SWAPS = 256
"""Items of either side that are looked at for one swap: those whose load is nearest to what must go, and the smallest."""
_FEW = 12
"""Items of which every subset is looked at."""
_SUBSETS = ((np.arange(1 << _FEW)[:, None] >> np.arange(_FEW)) & 1).astype(np.float64)
_STRICTLY = 1e-9
"""A relative improvement below this is rounding, not balance."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Freedom:
    """What may be moved.

    Attributes:
        ceiling: float64[R], the highest allowed load of each destination, cost/s.
        budget: request rate that may land on another destination, requests/s.
        free: bool[B], keys that cost nothing to move: they have just been admitted and are warm nowhere.
        anywhere: bool[B], keys that may move to any destination; the others only to those of ``open``.
        open: bool[R], destinations that any key may move to.
    """

    ceiling: Floats
    budget: float
    free: Mask
    anywhere: Mask
    open: Mask


def ceilings(load: Floats, fleet: Fleet, limit: float) -> Floats:
    """Return ``limit`` times what each destination would carry if all were equally utilised, float64[R], cost/s.

    Args:
        load: float64[R], cost/s.
        fleet: the destinations.
        limit: 1 + ε.
    """
    capacity = fleet.relative * fleet.present
    whole = float(capacity.sum())
    mean = float(load.sum()) / whole if whole > 0 else 0.0
    ceiling: Floats = limit * mean * fleet.relative
    return ceiling


@dataclass(frozen=True, slots=True, eq=False)
class Rebalanced:
    """The result.

    Attributes:
        pairs: ascending.
        load: float64[R], cost/s, with ``pairs``.
        moved: int64[], keys moved alone, ascending.
        swapped: int64[], keys that changed places, ascending.
        report: what it did.
    """

    pairs: Pairs
    load: Floats
    moved: Ints
    swapped: Ints
    report: RebalanceReport


def rebalance(pairs: Pairs, load: Floats, demand: Demand, fleet: Fleet, freedom: Freedom) -> Rebalanced:
    """Move keys until no destination is above the limit, the budget is spent or nothing helps.

    Loads are summed anew after each pass, so that a second call finds nothing more to do.

    Args:
        pairs: the assignment.
        load: float64[R], cost/s, by ``loads``.
        demand: rates and costs.
        fleet: the destinations.
        freedom: what may be moved.
    """
    found, before = pairs, load
    swaps: list[tuple[int, int]] = []
    spent = 0.0
    stop = Stop.BALANCED
    for _ in range(_PASSES):
        search = _Search(pairs, demand, fleet, freedom, load, freedom.budget - spent)
        stop = search.run()
        if not search.changed:
            break
        spent += search.spent
        swaps += search.swaps
        pairs = Pairs.of(pairs.key, search.destination, pairs.standby)
        load = loads(pairs, demand, fleet)
    came = ~found.has(pairs.key, pairs.destination, fleet.size)
    moved = np.unique(pairs.key[came])
    swaps = [both for both in swaps if np.isin(both, moved).all()]
    swapped = np.unique(np.array(swaps, dtype=np.int64))
    alone = np.setdiff1d(moved, swapped)
    paid = came & ~freedom.free[pairs.key]
    if stop is Stop.BUDGET and not paid.any():
        stop = Stop.TOO_LARGE
    report = RebalanceReport(
        before=imbalance(before, fleet.capacity, fleet.present),
        after=imbalance(load, fleet.capacity, fleet.present),
        moves=alone.size,
        swaps=len(swaps),
        moved_rate=float(shares(pairs, demand.rate, fleet)[paid].sum()),
        budget=freedom.budget,
        stop=stop,
    )
    return Rebalanced(pairs, load, alone, swapped, report)


@dataclass(frozen=True, slots=True)
class _Step:
    """One move, or a swap: ``item`` leaves the hot destination for ``target``, ``other`` comes back for it."""

    score: float
    effect: float
    item: int
    target: int
    other: int | None
    gain: float
    rate: float

    def better(self, than: "_Step | None") -> bool:
        return than is None or (self.score, self.effect, -self.gain) > (
            than.score,
            than.effect,
            -than.gain,
        )


class _Search:
    """One pass; ``destination`` changes place by place, everything else is read."""

    def __init__(
        self, pairs: Pairs, demand: Demand, fleet: Fleet, freedom: Freedom, load: Floats, budget: float
    ) -> None:
        self.destination = pairs.destination.copy()
        self.changed = False
        self._origin = pairs.destination
        self.swaps: list[tuple[int, int]] = []
        self.spent = 0.0
        self._key = pairs.key
        self._fleet, self._freedom, self._budget = fleet, freedom, budget
        self._relative = fleet.relative
        self._load = load.copy()
        self._cost = shares(pairs, demand.cost, fleet)
        self._rate = np.where(freedom.free[pairs.key], 0.0, shares(pairs, demand.rate, fleet))
        count = pairs.counts[pairs.key]
        self._single = count == 1
        self._needed = np.where(self._single, demand.rate[pairs.key], 0.0)
        order = np.argsort(self.destination, kind="stable")
        edges = np.searchsorted(self.destination[order], np.arange(fleet.size + 1))
        self._items = [order[start:end] for start, end in itertools.pairwise(edges)]
        multi = np.flatnonzero(~self._single)
        self._taken = set(zip(pairs.key[multi].tolist(), self.destination[multi].tolist(), strict=True))
        self._ceiling = freedom.ceiling
        self._present = np.flatnonzero(fleet.present)

    def run(self) -> Stop:
        """Take steps until there is none."""
        stuck: set[int] = set()
        stop = Stop.BALANCED
        while True:
            hot = self._hottest(stuck)
            if hot is None:
                self._take_back()
                return stop
            step = self._best(hot, self._budget - self.spent)
            if step is None:
                over_budget = self._budget < np.inf and self._best(hot, np.inf) is not None
                stop = Stop.BUDGET if over_budget or stop is Stop.BUDGET else Stop.NO_MOVE
                stuck.add(hot)
                continue
            self._apply(hot, step)

    def _take_back(self) -> None:
        """Undo moves that later ones made needless, the dearest first."""
        moved = np.flatnonzero(self.destination != self._origin)
        for item in moved[np.lexsort((moved, -self._cost[moved], -self._rate[moved]))].tolist():
            now, origin = int(self.destination[item]), int(self._origin[item])
            cost = float(self._cost[item])
            if (
                self._load[origin] + cost <= self._ceiling[origin]
                and self._allowed(np.array([item]), now, origin).all()
            ):
                self._load[now] -= cost
                self._load[origin] += cost
                self.spent -= float(self._rate[item])
                self._carry(item, now, origin)

    def _hottest(self, stuck: set[int]) -> int | None:
        over = (self._load - self._ceiling * (1 + _STRICTLY)) / self._relative
        over[~self._fleet.present] = -np.inf
        over[list(stuck)] = -np.inf
        hot = int(np.argmax(over))
        return hot if over[hot] > 0 else None

    def _apply(self, hot: int, step: _Step) -> None:
        self._load[hot] -= step.gain
        self._load[step.target] += step.gain
        self.spent += step.rate
        self.changed = True
        if step.other is not None:
            self.swaps.append((int(self._key[step.item]), int(self._key[step.other])))
            self._carry(step.other, step.target, hot)
        self._carry(step.item, hot, step.target)

    def _carry(self, item: int, source: int, target: int) -> None:
        self.destination[item] = target
        self._items[source] = self._items[source][self._items[source] != item]
        self._items[target] = np.append(self._items[target], item)
        if not self._single[item]:
            key = int(self._key[item])
            self._taken.remove((key, source))
            self._taken.add((key, target))

    def _best(self, hot: int, budget: float) -> _Step | None:
        """Return the best step that keeps its target below the limit, else the best that is an improvement at all."""
        items = self._items[hot]
        items = items[self._cost[items] > 0]
        targets = self._targets(hot)
        if items.size == 0 or targets.size == 0:
            return None
        for strict in (True, False):
            step = self._best_cover(hot, items, targets, budget) if strict else None
            if step is None:
                step = self._best_move(hot, items, targets, budget, strict=strict)
                if step is not None and step.effect >= step.gain:
                    return step
            for target in targets.tolist():
                swap = self._best_swap(hot, items, target, budget, strict=strict)
                if swap is not None and swap.better(step):
                    step = swap
            if step is not None:
                return step
        return None

    def _targets(self, hot: int) -> Ints:
        """Return the coldest destinations, coldest first."""
        others = self._present[self._present != hot]
        utilisation = self._load[others] / self._relative[others]
        if others.size > _TARGETS:
            near = np.argpartition(utilisation, _TARGETS)[:_TARGETS]
            others, utilisation = others[near], utilisation[near]
        coldest: Ints = others[np.lexsort((others, utilisation))]
        return coldest

    def _allowed(self, items: Ints, source: int, target: int) -> Mask:
        """Tell which items may leave ``source`` for ``target``: it must fit there, and be new there."""
        capacity = self._fleet.capacity
        fits = (capacity[target] >= self._needed[items]) | (capacity[target] >= capacity[source])
        allowed: Mask = np.where(self._single[items], fits, capacity[target] == capacity[source])
        if not self._freedom.open[target]:
            allowed &= self._freedom.anywhere[self._key[items]]
        for at in np.flatnonzero(allowed & ~self._single[items]).tolist():
            allowed[at] = (int(self._key[items[at]]), target) not in self._taken
        return allowed

    def _effect(self, hot: int, target: int, gain: Floats, *, strict: bool) -> Floats:
        """Return how much of ``gain`` relieves the overload of ``hot``; not positive where it is no improvement."""
        capacity = self._relative
        effect = np.minimum(gain, self._load[hot] - self._ceiling[hot])
        after = self._load[target] + gain
        if strict:
            return np.where(after <= self._ceiling[target], effect, 0.0)
        ahead = (self._load[hot] - gain) / capacity[hot]
        margin = self._load[hot] / capacity[hot] * (1 - _STRICTLY) - np.maximum(
            after / capacity[target], ahead
        )
        improvement: Floats = np.minimum(effect, margin * capacity[hot])
        return improvement

    def _best_cover(self, hot: int, items: Ints, targets: Ints, budget: float) -> _Step | None:
        """Return the first move of the cheapest set of moves that takes the whole overload away.

        Where a destination has few keys, the best next move alone leaves a rest that is dear to move. All sets are
        looked at where there are few items; None where there are many or no set is enough.
        """
        target = int(targets[0])
        room = self._ceiling[target] - self._load[target]
        items = items[self._allowed(items, hot, target) & (self._cost[items] <= room)]
        if not 0 < items.size <= _FEW:
            return None
        sets = _SUBSETS[: 1 << items.size, : items.size]
        gain, rate = sets @ self._cost[items], sets @ self._rate[items]
        overload = float(self._load[hot] - self._ceiling[hot])
        enough = np.flatnonzero((gain >= overload) & (rate <= budget))
        if enough.size == 0:
            return None
        best = enough[np.lexsort((gain[enough], sets[enough].sum(axis=1), rate[enough]))[0]]
        chosen = items[sets[best] > 0]
        item = int(chosen[np.argmax(self._cost[chosen])])
        return _Step(
            score=_score(overload, float(rate[best])),
            effect=overload,
            item=item,
            target=target,
            other=None,
            gain=float(self._cost[item]),
            rate=float(self._rate[item]),
        )

    def _best_move(
        self, hot: int, items: Ints, targets: Ints, budget: float, *, strict: bool
    ) -> _Step | None:
        best: _Step | None = None
        cost, rate = self._cost[items], self._rate[items]
        for target in targets.tolist():
            effect = self._effect(hot, target, cost, strict=strict)
            effect = np.where(self._allowed(items, hot, target) & (rate <= budget), effect, 0.0)
            at = _best_at(effect, rate, cost)
            if at is None:
                continue
            step = _Step(
                score=_score(float(effect[at]), float(rate[at])),
                effect=float(effect[at]),
                item=int(items[at]),
                target=target,
                other=None,
                gain=float(cost[at]),
                rate=float(rate[at]),
            )
            if step.better(best):
                best = step
            if step.effect >= step.gain:
                break
        return best

    def _best_swap(self, hot: int, items: Ints, target: int, budget: float, *, strict: bool) -> _Step | None:
        others = self._items[target]
        items = items[self._allowed(items, hot, target)]
        others = others[self._allowed(others, target, hot)]
        if items.size == 0 or others.size == 0:
            return None
        overload = self._load[hot] - self._ceiling[hot]
        items = _first(items, np.abs(self._cost[items] - overload))
        others = _first(others, self._cost[others])
        gain = self._cost[items][:, None] - self._cost[others][None, :]
        rate = self._rate[items][:, None] + self._rate[others][None, :]
        effect = self._effect(hot, target, gain, strict=strict)
        effect = np.where((gain > 0) & (rate <= budget), effect, 0.0)
        at = _best_at(effect.ravel(), rate.ravel(), gain.ravel())
        if at is None:
            return None
        row, column = divmod(at, others.size)
        return _Step(
            score=_score(float(effect[row, column]), float(rate[row, column])),
            effect=float(effect[row, column]),
            item=int(items[row]),
            target=target,
            other=int(others[column]),
            gain=float(gain[row, column]),
            rate=float(rate[row, column]),
        )


def _first(items: Ints, distance: Floats) -> Ints:
    """Return the _SWAPS items of least distance, in their order."""
    if items.size <= _SWAPS:
        return items
    return items[np.sort(np.argsort(distance, kind="stable")[:_SWAPS])]


def _best_at(effect: Floats, rate: Floats, gain: Floats) -> int | None:
    """Return where effect / rate is highest, then the largest effect, the smallest gain, the first."""
    useful = np.flatnonzero(effect > 0)
    if useful.size == 0:
        return None
    effects, effect, rate = effect, effect[useful], rate[useful]
    score = np.divide(effect, rate, out=np.full(effect.size, np.inf), where=rate > 0)
    equal = useful[score == score.max()]
    equal = equal[effects[equal] == effects[equal].max()]
    return int(equal[np.argmin(gain[equal])])


def _score(effect: float, rate: float) -> float:
    return effect / rate if rate > 0 else np.inf
