"""How bursty arrivals are: gaps between requests of a group, and requests in a minute."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.describe.sums import Sums
from cacheroute.simulation.traces.requests import Requests

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST_GAPS = 10
"""A minute with fewer gaps says nothing about their variation."""
MINUTE = 60


class Gaps:
    """Moments of the gaps between consecutive requests of each group."""

    def __init__(self) -> None:
        self._last, self._gap, self._first = (np.full(0, np.nan) for _ in range(3))
        self._sums = {name: Sums() for name in ("n", "sum", "square", "product")}

    def add(self, group: Ints, time: Floats) -> None:
        """Take note of the next N requests, by time; ``group`` is int64[N] >= 0."""
        self._grow(int(group.max(initial=-1)) + 1)
        order = np.argsort(group, kind="stable")
        group, time = group[order], time[order]
        gap = time - _previous(group, time, self._last)
        known = ~np.isnan(gap)
        group, gap = group[known], gap[known]
        before = _previous(group, gap, self._gap)
        new = np.isnan(before)
        self._first[group[new]] = gap[new]
        self._sums["product"].add(group[~new], (gap * before)[~new])
        for name, amount in (("n", None), ("sum", gap), ("square", gap * gap)):
            self._sums[name].add(group, amount)

    def cv(self) -> Floats:
        """Return the coefficient of variation of each group's gaps, NaN where it has fewer than two."""
        n, total, square = self._moments()
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            found: Floats = np.sqrt(np.maximum(square / n - mean**2, 0)) / mean
        return np.where(n > 1, found, np.nan)

    def lag_1(self) -> Floats:
        """Return the autocorrelation of each group's gaps at lag 1, NaN where it has fewer than three."""
        n, total, square = self._moments()
        product = self._sums["product"].upto(n.size)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            both = product - mean * (2 * total - self._first - self._gap) + (n - 1) * mean**2
            found: Floats = both / (square - n * mean**2)
        return np.where(n > 2, found, np.nan)  # noqa: PLR2004  two pairs

    def count(self) -> Floats:
        """Return the number of gaps of each group."""
        return self._moments()[0]

    def _moments(self) -> tuple[Floats, Floats, Floats]:
        size = self._last.size
        return self._sums["n"].upto(size), self._sums["sum"].upto(size), self._sums["square"].upto(size)

    def _grow(self, size: int) -> None:
        more = np.full(max(size - self._last.size, 0), np.nan)
        self._last = np.concatenate((self._last, more))
        self._gap = np.concatenate((self._gap, more))
        self._first = np.concatenate((self._first, more))


def _previous(group: Ints, values: Floats, last: Floats) -> Floats:
    """Return the value before each one in its group, groups in order; ``last`` holds those before, and is kept up."""
    before = np.where(np.diff(group, prepend=-1) != 0, last[group], np.roll(values, 1))
    ends = np.flatnonzero(np.diff(group, append=-1) != 0)
    last[group[ends]] = values[ends]
    return before


class Burstiness:
    """Of all requests together."""

    def __init__(self) -> None:
        self._gaps = Gaps()
        self._last = self._origin = float("nan")
        self._counts = Sums()
        self._of_minute = {name: Sums() for name in ("n", "sum", "square")}

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        if np.isnan(self._origin):
            self._origin = float(part.time[0])
        self._gaps.add(np.zeros(part.size, dtype=np.int64), part.time)
        minute = ((part.time - self._origin) // MINUTE).astype(np.int64)
        self._counts.add(minute)
        gap = np.diff(part.time, prepend=self._last)
        start = int(np.isnan(gap[0]))
        for name, amount in (("n", None), ("sum", gap[start:]), ("square", gap[start:] ** 2)):
            self._of_minute[name].add(minute[start:], amount)
        self._last = float(part.time[-1])

    def document(self) -> dict[str, Any]:
        """Return the figures; None where there is too little to say."""
        minutes = int((self._last - self._origin) // MINUTE)
        counts = self._counts.upto(minutes)
        return {
            "cv_of_gaps": known(self._gaps.cv()[0]),
            "lag_1_of_gaps": known(self._gaps.lag_1()[0]),
            "minutely_cv_of_gaps": self._minutely(),
            "whole_minutes": minutes,
            "cv_of_minute_counts": known(counts.std() / counts.mean()) if counts.any() else None,
            "lag_1_of_minute_counts": _lag_1(counts),
            "busiest_minute_over_mean": known(counts.max() / counts.mean()) if counts.any() else None,
        }

    def _minutely(self) -> float | None:
        """Return the mean, over minutes with enough gaps, of the coefficient of variation in the minute."""
        size = int((self._last - self._origin) // MINUTE) + 1
        n, total, square = (self._of_minute[name].upto(size) for name in ("n", "sum", "square"))
        enough = (n >= _LEAST_GAPS) & (total > 0)
        mean = total[enough] / n[enough]
        cv = np.sqrt(np.maximum(square[enough] / n[enough] - mean**2, 0)) / mean
        return known(cv.mean()) if cv.size else None


def known(value: float) -> float | None:
    """Return a figure, None for NaN and infinity: JSON has neither."""
    return float(value) if np.isfinite(value) else None


def _lag_1(values: Floats) -> float | None:
    off = values - values.mean() if values.size else values
    spread = float((off**2).sum())
    return float((off[1:] * off[:-1]).sum() / spread) if spread > 0 else None
