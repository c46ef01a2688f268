"""What the regime diagnosis predicts, and what the observed arrivals make of it without assuming they are Poisson."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates
from cacheroute.domain.spec import PlanSpec
from cacheroute.planning.regime import Regime, diagnose, observed_hits, trailing_counts

UNKEYED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Single requests, by time.

    Attributes:
        time: float64[N], seconds, ascending.
        key: int64[N], index of the key in ``Rates.keys``; UNKEYED where it cannot be planned.
        tokens: float64[N], prompt tokens; 1 where not known.
    """

    time: NDArray[np.float64]
    key: NDArray[np.int64]
    tokens: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ObservedHits:
    """Shares of prompt tokens that find their prefix, 0..1; without prompt tokens, of requests.

    Attributes:
        flat: with flat routing.
        planned: with the plan, cold tail included.
        requests: that were judged.
        seconds: of the file that were judged; what came before only warmed the caches.
    """

    flat: float
    planned: float
    requests: int
    seconds: float


def observed(arrivals: Arrivals, plan: Plan, spec: PlanSpec, rates: Rates) -> ObservedHits | None:
    """Judge the second half of the arrivals, with the eviction windows that the rates predict.

    Returns:
        None where there is nothing to judge: no warm slots or no key.
    """
    count = _counts(plan, rates)
    size = len(plan.by_destination())
    regime = _regime(plan, spec, rates, count)
    keyed = arrivals.key != UNKEYED
    half = (float(arrivals.time[0]) + float(arrivals.time[-1])) / 2
    judged = (arrivals.time >= half) & keyed
    if regime.planned_window <= 0 or not judged.any():
        return None
    spread = np.where(count[arrivals.key] > 0, count[arrivals.key], size)
    flat = _hits(arrivals, keyed, judged, regime.flat_window, np.full(spread.size, size))
    planned = _hits(arrivals, keyed, judged, regime.planned_window, spread)
    return ObservedHits(flat, planned, int(judged.sum()), float(arrivals.time[-1]) - half)


def _hits(
    arrivals: Arrivals,
    keyed: NDArray[np.bool_],
    judged: NDArray[np.bool_],
    window: float,
    spread: NDArray[np.int64],
) -> float:
    """No request is older than the file, so a longer window finds as much as one of its length."""
    length = float(arrivals.time[-1] - arrivals.time[0])
    seen = np.zeros(arrivals.time.size, dtype=np.int64)
    seen[keyed] = trailing_counts(arrivals.time[keyed], arrivals.key[keyed], min(window, length))
    return observed_hits(seen[judged], arrivals.tokens[judged], spread[judged])


def _counts(plan: Plan, rates: Rates) -> NDArray[np.int64]:
    """Return how many destinations each measured key has, int64[B]; 0 where it is cold."""
    known = {key: len(group.seats) for key, group in plan.assignments()}
    return np.fromiter((known.get(key, 0) for key in rates.keys), dtype=np.int64, count=len(rates.keys))


def _regime(plan: Plan, spec: PlanSpec, rates: Rates, count: NDArray[np.int64]) -> Regime:
    """Repeat the planner's diagnosis: its windows are not kept in a plan."""
    admitted = np.flatnonzero(count)
    slots = sum(spec.pool(seat.pool).warm_prefixes for seat in plan.seats) / len(plan.seats)
    fleet = (len(plan.seats), slots)
    return diagnose(rates.values, admitted, count[admitted], fleet, plan.summary.imbalance)
