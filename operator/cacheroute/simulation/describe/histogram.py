"""Quantiles of whole numbers without keeping them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_EXACT_BITS = 11
"""Below 2^11 every number has a bin of its own; above, each doubling has 2^10 bins."""
_HALF = 1 << (_EXACT_BITS - 1)
QUANTILES = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}


class Histogram:
    """Counts of whole numbers from 0 to 2^52: exact below 2,048, within 0.1 % above; the mean is exact."""

    def __init__(self) -> None:
        self._counts = np.zeros(2 * _HALF, dtype=np.int64)
        self.count = 0
        self.total = 0.0

    def add(self, values: NDArray[np.int64]) -> None:
        """Count numbers, int64[N] >= 0."""
        if values.size:
            counts = np.bincount(_bins(values), minlength=self._counts.size)
            counts[: self._counts.size] += self._counts
            self._counts = counts
            self.count += values.size
            self.total += float(values.sum(dtype=np.float64))

    def quantile(self, share: float) -> float:
        """Return the smallest number that so large a share, 0..1, of all is not above; NaN without numbers."""
        if not self.count:
            return float("nan")
        at = np.searchsorted(np.cumsum(self._counts), max(share * self.count, 1) - 1e-9)
        return _number(int(at))

    def share_up_to(self, value: int) -> float:
        """Return the share of numbers that are at most ``value``, NaN without numbers."""
        bin_of = int(_bins(np.array([value], dtype=np.int64))[0])
        return float(self._counts[: bin_of + 1].sum() / self.count) if self.count else float("nan")

    def document(self, scale: float = 1.0) -> dict[str, Any] | None:
        """Return mean and quantiles times ``scale``, None without numbers."""
        if not self.count:
            return None
        quantiles = {name: self.quantile(share) * scale for name, share in QUANTILES.items()}
        return {"mean": self.total / self.count * scale, **quantiles}

    def curve(self, scale: float = 1.0, points: int = 200) -> list[tuple[float, float]]:
        """Return the distribution as at most ``points`` pairs: a number times ``scale``, and the share up to it."""
        present = np.flatnonzero(self._counts)
        if present.size > points:
            reached = np.cumsum(self._counts)[present] / max(self.count, 1)
            chosen = np.searchsorted(reached, np.linspace(0, 1, points)).clip(max=present.size - 1)
            present = present[np.unique(chosen)]
        shares = np.cumsum(self._counts)[present] / max(self.count, 1)
        return [(_number(int(at)) * scale, float(share)) for at, share in zip(present, shares, strict=True)]


def _bins(values: NDArray[np.int64]) -> NDArray[np.int64]:
    doublings = np.maximum(np.frexp(values.astype(np.float64))[1].astype(np.int64) - _EXACT_BITS, 0)
    bins: NDArray[np.int64] = doublings * _HALF + (values >> doublings)
    return bins


def _number(at: int) -> float:
    """Return the middle of a bin."""
    doublings = max(at // _HALF - 1, 0)
    low = (at - doublings * _HALF) << doublings
    return low + ((1 << doublings) - 1) / 2
