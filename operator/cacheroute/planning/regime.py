"""Is affinity worth it for this traffic on this fleet? Predicted hits of planned and of flat routing.

A key whose prefix was seen m times within the eviction window T_c is found on one of its k destinations with
probability 1 - (1 - 1/k)^m, on one of all R with 1 - (1 - 1/R)^m. With Poisson arrivals of rate λ these are
1 - exp(-λ T_c / k) and 1 - exp(-λ T_c / R). T_c solves "the prefixes seen within T_c fill the warm slots" (Che, Tung,
Wang, "Hierarchical Web caching systems", IEEE JSAC 20(7), 2002). The model ranks and warns; the paper found an
analytic residency model 14.3 points off (median), so a measurement is what decides.
"""

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BINS_PER_OCTAVE = 8
_MAX_WINDOW = 1e12
"""Seconds; a prefix that nothing evicts stays at least so long."""
_STEPS = 60
_LEAST_MISS = 0.01
"""Below this share of misses prefill is not what limits an engine any more, so that no larger gain is predicted."""
MIN_GAIN = 0.02
"""Hits gained per request below which affinity is called not worth it: what measurements scatter by."""


class Worth(enum.StrEnum):
    """The diagnosis."""

    UNKNOWN = "Unknown"
    """There is no traffic to judge by."""
    WORTH_IT = "WorthIt"
    """Planned routing saves prefills, and the imbalance does not eat the gain."""
    ALL_WARM = "FlatIsWarm"
    """Flat routing keeps the prefixes warm everywhere; there is little to gain."""
    TOO_SPARSE = "TooSparse"
    """Prefixes come back too seldom to be found anywhere."""
    IMBALANCED = "ImbalanceEatsGain"
    """The hits gained are worth less than the load of the hottest destination costs."""


@dataclass(frozen=True, slots=True)
class Regime:
    """Predicted hits and what follows; all dimensionless but the windows.

    Attributes:
        flat_window: T_c with flat routing, seconds.
        planned_window: T_c with the plan, seconds.
        flat_hit: share of requests that find their prefix with flat routing, 0..1.
        planned_hit: the same with the plan, cold tail included, 0..1.
        multiplier: requests/s at the same latency against flat routing: (1 - flat) / (1 - planned) / imbalance.
        worth: the diagnosis.
    """

    flat_window: float = 0.0
    planned_window: float = 0.0
    flat_hit: float = 0.0
    planned_hit: float = 0.0
    multiplier: float = 0.0
    worth: Worth = Worth.UNKNOWN

    def hit(
        self, rate: NDArray[np.float64], spread: NDArray[np.int64], *, planned: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the share of a key's requests that find its prefix, float64 of the shape of ``rate``.

        Args:
            rate: requests/s of each key.
            spread: over how many destinations its requests go.
            planned: where they go by plan, else flat.
        """
        window = np.where(planned, self.planned_window, self.flat_window)
        with np.errstate(over="ignore"):
            found: NDArray[np.float64] = -np.expm1(-(rate / spread) * window)
        return found

    def gain(self, rate: NDArray[np.float64], count: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """Return the hits per request that ``count`` destinations gain a key over all ``size``, >= 0."""
        yes, no = np.ones(rate.size, dtype=np.bool_), np.zeros(rate.size, dtype=np.bool_)
        planned = self.hit(rate, count, planned=yes)
        flat = self.hit(rate, np.full(rate.size, size), planned=no)
        return np.maximum(planned - flat, 0.0)


def diagnose(
    rate: NDArray[np.float64],
    admitted: NDArray[np.int64],
    count: NDArray[np.int64],
    fleet: tuple[int, float],
    imbalance: float,
) -> Regime:
    """Predict the hits of flat and of planned routing from rates, with Poisson arrivals.

    Args:
        rate: float64[B], requests/s of every key.
        admitted: int64[A], keys with destinations of their own.
        count: int64[A], how many each has.
        fleet: number of destinations R, and warm slots of one (the mean).
        imbalance: of the plan, >= 1; 0 without load.
    """
    size, slots = fleet
    total = float(rate.sum())
    if total <= 0 or slots <= 0:
        return Regime()
    spread = np.full(rate.size, float(size))
    flat = _binned(rate, spread)
    spread[admitted] = count
    planned = _binned(rate, spread)
    flat_window, planned_window = _window(flat, size, slots), _window(planned, size, slots)
    flat_hit = min(_hit(flat, flat_window) / total, 1.0)
    planned_hit = min(_hit(planned, planned_window) / total, 1.0)
    saved = max(1 - flat_hit, _LEAST_MISS) / max(1 - planned_hit, _LEAST_MISS)
    multiplier = saved / max(imbalance, 1.0)
    return Regime(
        flat_window,
        planned_window,
        flat_hit,
        planned_hit,
        multiplier,
        _worth(flat_hit, planned_hit, multiplier),
    )


def trailing_counts(time: NDArray[np.float64], key: NDArray[np.int64], window: float) -> NDArray[np.int64]:
    """Return for each request how many of the same key came before it within ``window`` seconds, int64[N].

    Args:
        time: float64[N], seconds, ascending.
        key: int64[N].
        window: T_c, seconds.
    """
    order = np.lexsort((time, key))
    stamps, keys = time[order], key[order]
    start = np.searchsorted(keys, keys)
    span = float(time[-1] - time[0]) + 2 * window + 1.0 if time.size else 1.0
    dense = np.unique(keys, return_inverse=True)[1]
    axis = stamps - (time[0] if time.size else 0.0) + dense * span
    earliest = np.maximum(np.searchsorted(axis, axis - window), start)
    counts = np.empty(time.size, dtype=np.int64)
    counts[order] = np.arange(time.size) - earliest
    return counts


def observed_hits(counts: NDArray[np.int64], tokens: NDArray[np.float64], spread: NDArray[np.int64]) -> float:
    """Return the token-weighted hit, 0..1, without assuming Poisson arrivals: Σ tokens (1 - (1 - 1/k)^m) / Σ tokens.

    Args:
        counts: int64[N], m of each request, by ``trailing_counts``.
        tokens: float64[N], prompt tokens of each request.
        spread: int64[N], over how many destinations its key's requests go.
    """
    hit = 1.0 - np.power(1.0 - 1.0 / spread, counts)
    total = float(tokens.sum())
    return float((hit * tokens).sum()) / total if total > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Bins:
    """Keys of nearly equal rate at one destination: rate there, spread-weighted number, and total rate."""

    at_one: NDArray[np.float64]
    copies: NDArray[np.float64]
    total: NDArray[np.float64]


def _binned(rate: NDArray[np.float64], spread: NDArray[np.float64]) -> _Bins:
    """Gather keys by the rate that one destination sees of them; a bin is an eighth of an octave wide."""
    known = rate / spread > 0  # the smallest floats have no half
    at_one = rate[known] / spread[known]
    index = np.floor(np.log2(at_one) * _BINS_PER_OCTAVE).astype(np.int64)
    index -= index.min(initial=0)
    total = np.bincount(index, weights=rate[known]).astype(np.float64)
    copies = np.bincount(index, weights=spread[known]).astype(np.float64)
    used = copies > 0
    return _Bins(total[used] / copies[used], copies[used], total[used])


def _window(bins: _Bins, size: int, slots: float) -> float:
    """Solve Σ copies (1 - exp(-rate T)) = size * slots for T by bisection on its logarithm."""
    wanted = size * slots
    if bins.copies.sum() <= wanted:
        return _MAX_WINDOW
    low, high = math.log(1e-9), math.log(_MAX_WINDOW)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        filled = float((bins.copies * _found(bins.at_one, math.exp(middle))).sum())
        low, high = (middle, high) if filled < wanted else (low, middle)
    return math.exp((low + high) / 2)


def _hit(bins: _Bins, window: float) -> float:
    return float((bins.total * _found(bins.at_one, window)).sum())


def _found(rate: NDArray[np.float64], window: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # a rate so high is found for certain
        found: NDArray[np.float64] = -np.expm1(-rate * window)
    return found


def _worth(flat: float, planned: float, multiplier: float) -> Worth:
    if planned - flat < MIN_GAIN:
        return Worth.ALL_WARM if flat > 1 - planned else Worth.TOO_SPARSE
    return Worth.WORTH_IT if multiplier > 1 else Worth.IMBALANCED
