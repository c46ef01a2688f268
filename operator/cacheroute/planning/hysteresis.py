"""Phases 2 and 3 of ``Stable``: which keys are admitted and how many destinations each needs, with hysteresis."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.admission import counts, highest
from cacheroute.planning.pairs import Floats, Ints, Pairs, covered
from cacheroute.planning.regime import diagnose
from cacheroute.planning.types import Demand, Fleet, Route

Mask = NDArray[np.bool_]
_LEAST_GAIN = 1e-6
"""Hits per request that every admitted key is taken to gain, so that where nothing is gained the rate decides."""


def counts_wanted(pairs: Pairs, demand: Demand, fleet: Fleet, hysteresis: float, *, adapt: bool) -> Ints:
    """Return how many destinations each key should have, int64[B], 1..R, and no more than there are for it.

    A key in force gets more as soon as its rate exceeds the capacity of its destinations, and fewer only when the
    rate is below 1 - ``hysteresis`` of what one less would carry. Where capacities differ, more is counted by the
    smallest and fewer by the largest one, so the result is never too small. A fixed count is that.

    Args:
        pairs: the assignment in force.
        demand: rates, and the counts that the user fixed.
        fleet: the destinations.
        hysteresis: 0..1.
        adapt: follow the rates; else keys in force keep their counts.
    """
    now = pairs.counts
    wanted = counts(demand.rate, fleet)
    incumbent = now > 0
    wanted[incumbent] = now[incumbent]
    if adapt:
        key = np.flatnonzero(incumbent)
        wanted[key] = _adapted(now[key], demand.rate[key], covered(pairs, fleet)[key], fleet, hysteresis)
    fixed = demand.count > 0
    wanted[fixed] = demand.count[fixed]
    if fleet.present.all():
        return np.clip(wanted, 1, fleet.size)
    absent = pairs.where(~fleet.present[pairs.destination]).counts
    return np.clip(wanted, 1, np.maximum(absent + np.count_nonzero(fleet.present), 1))


def _adapted(now: Ints, rate: Floats, capacity: Floats, fleet: Fleet, hysteresis: float) -> Ints:
    smallest, largest = fleet.capacity.min(), fleet.capacity.max()
    with np.errstate(over="ignore"):
        more = np.ceil((rate - capacity) / smallest)
        spare = np.floor((capacity - rate / (1.0 - hysteresis)) / largest)
    change = np.where(rate > capacity, np.maximum(more, 1), -np.clip(spare, 0, now - 1))
    adapted: Ints = np.clip(now + change, 1, fleet.size).astype(np.int64)
    return adapted


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """Who is admitted.

    Attributes:
        admitted: bool[B].
        skipped: keys refused while slots were left, because their count was more than these.
        threshold: rate of the last key that would be admitted from scratch, requests/s; 0 where every key fits.
        withheld: keys that would be admitted from scratch and are not.
        bar: value that a newcomer would need to be admitted; 0 where any will do.
    """

    admitted: Mask
    skipped: int
    threshold: float
    withheld: int
    bar: float = 0.0


def admit_by_rate(
    incumbent: Mask, wanted: Ints, demand: Demand, fleet: Fleet, hysteresis: float, *, adapt: bool
) -> Admission:
    """Admit by decreasing rate while the counts fit the warm slots, keys in force with an advantage.

    The rate of a key in force counts 1 / (1 - ``hysteresis``), that of a newcomer 1 / (1 + ``hysteresis``), so a
    newcomer takes the slot of a key in force only where its rate is (1 + hysteresis) / (1 - hysteresis) times as
    high, and a slot that nobody has goes to the best newcomer. Newcomers without traffic stay cold.

    Args:
        incumbent: bool[B], keys in force.
        wanted: int64[B], counts.
        demand: rates, and the routes that the user fixed.
        fleet: its slots are C.
        hysteresis: 0..1, exclusive.
        adapt: admit newcomers; else only keys in force and those that the user admits.
    """
    return admit_by_value(
        demand.rate, wanted, fleet.slots, incumbent, demand.route, hysteresis=hysteresis, adapt=adapt
    )


def admit_by_value(
    value: Floats,
    weight: NDArray[np.int64] | Floats,
    budget: float,
    incumbent: Mask,
    route: NDArray[np.int8],
    *,
    hysteresis: float,
    adapt: bool,
) -> Admission:
    """Admit by decreasing value while the weights fit the budget; see ``admit_by_rate``.

    Args:
        value: float64[B], >= 0: rate, or what a unit of weight is worth.
        weight: [B], > 0, at least 1 for slots.
        budget: what the weights may add up to.
        incumbent: bool[B], keys in force.
        route: int8[B], what the user fixed.
        hysteresis: 0..1, exclusive.
        adapt: admit newcomers.
    """
    forced = route == Route.ADMIT
    eligible = (route != Route.COLD) & (incumbent | forced | (adapt & (value > 0)))
    score = np.where(incumbent, value / (1.0 - hysteresis), value / (1.0 + hysteresis))
    admitted, skipped = _greedy(score, eligible, forced, weight, budget)
    if not adapt:
        return Admission(admitted, skipped, 0.0, 0)
    scratch, _ = _greedy(value, eligible & ((value > 0) | forced), forced, weight, budget)
    refused = bool((eligible & ~scratch & (value > 0)).any())
    by_rate = scratch & ~forced
    threshold = float(value[by_rate].min()) if refused and by_rate.any() else 0.0
    weakest = score[admitted & ~forced].min(initial=np.inf)
    full = (eligible & ~admitted).any() and np.isfinite(weakest)
    return Admission(
        admitted,
        skipped,
        threshold,
        withheld=int(np.count_nonzero(scratch & ~admitted)),
        bar=float(weakest) * (1.0 + hysteresis) if full else 0.0,
    )


def admit_by_bytes(
    incumbent: Mask,
    wanted: Ints,
    demand: Demand,
    fleet: Fleet,
    hysteresis: float,
    *,
    adapt: bool,
) -> Admission:
    """Admit by prefill tokens saved for each token of KV cache; the best single key, and what fits beside, where it is worth more.

    A key saves rate * gain * prefix tokens and takes count * prefix tokens, so with a prefill time that is linear
    in the prefix its length cancels in the ratio, and counts in what fits.

    Args:
        incumbent: bool[B], keys in force.
        wanted: int64[B], counts.
        demand: rates, prefix lengths, and the routes that the user fixed.
        fleet: its ``tokens`` are the budget.
        hysteresis: 0..1, exclusive; see ``admit_by_rate``.
        adapt: admit newcomers.
    """
    everyone = np.arange(demand.size)
    slots = float(fleet.tokens.mean() / demand.prefix.mean()) if demand.size else 0.0
    regime = diagnose(demand.rate, everyone, wanted, (fleet.size, slots), 1.0)
    saved = demand.rate * (regime.gain(demand.rate, wanted, fleet.size) + _LEAST_GAIN)
    weight = wanted * demand.prefix
    budget = float(fleet.tokens.sum())
    value = saved / wanted
    greedy = admit_by_value(
        value,
        weight,
        budget,
        incumbent,
        demand.route,
        hysteresis=hysteresis,
        adapt=adapt,
    )
    worth = np.where((weight <= budget) & (demand.route != Route.COLD), saved * demand.prefix, 0.0)
    best = int(np.argmax(worth)) if worth.size else 0
    forced = (demand.route == Route.ADMIT).any()
    if adapt and not forced and worth.size and worth[best] > worth[greedy.admitted].sum():
        others = np.where(everyone == best, Route.COLD, demand.route)
        rest = admit_by_value(
            value, weight, budget - weight[best], incumbent, others, hysteresis=hysteresis, adapt=adapt
        )
        return replace(greedy, admitted=rest.admitted | (everyone == best))
    return greedy


def _greedy(
    score: Floats, eligible: Mask, forced: Mask, weight: NDArray[np.int64] | Floats, budget: float
) -> tuple[Mask, int]:
    """Take forced keys, then the others, each by decreasing score, ties by index, while they fit; skip what does not."""
    taken = np.zeros(score.size, dtype=np.bool_)
    left, skipped = budget, 0
    for mask in (eligible & forced, eligible & ~forced):
        key = np.flatnonzero(mask)
        if key.size == 0 or left < weight[key].min():
            continue
        chosen, left, passed = _take(key, score, weight, left)
        taken[chosen] = True
        skipped += passed
    return taken, skipped


def _take(
    key: Ints, score: Floats, weight: NDArray[np.int64] | Floats, budget: float
) -> tuple[Ints, float, int]:
    """Take from ``key`` by decreasing score what fits; sort only as many as can be looked at before it is full."""
    lightest = weight[key].min()
    reach = min(int(min(budget / lightest, key.size)) + 1, key.size)
    while True:
        order = highest(key, score, reach)
        fits, left, passed = _fill(weight[order], budget)
        if order.size == key.size or left < lightest:
            return order[fits], left, passed
        reach = min(2 * order.size, key.size)


def _fill(weight: NDArray[np.int64] | Floats, left: float) -> tuple[Ints, float, int]:
    """Return the positions that fit in order, what is left, and how many were passed over before the last taken."""
    taken: list[Ints] = [np.empty(0, dtype=np.int64)]
    start, passed = 0, 0
    while start < weight.size:
        total = np.cumsum(weight[start:])
        number = int(np.searchsorted(total, left, side="right"))
        taken.append(np.arange(start, start + number))
        left -= float(total[number - 1]) if number else 0.0
        start += number
        fitting = np.flatnonzero(weight[start:] <= left)
        if fitting.size == 0:
            break
        passed += int(fitting[0])
        start += int(fitting[0])
    passed += weight.size - start if left > 0 else 0
    return np.concatenate(taken), left, passed
