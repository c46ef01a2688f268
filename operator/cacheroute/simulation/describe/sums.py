"""Sums by number, of as many numbers as come."""

import numpy as np
from numpy.typing import NDArray


class Sums:
    """float64[n] that grows; what was never added to is 0."""

    def __init__(self) -> None:
        self._values = np.zeros(64)

    def add(
        self, at: NDArray[np.int64], amount: NDArray[np.float64] | NDArray[np.int64] | None = None
    ) -> None:
        """Add amounts, 1 each if there are none, at numbers >= 0."""
        if not at.size:
            return
        low, high = int(at.min()), int(at.max()) + 1
        if high > self._values.size:
            self._values = np.concatenate((self._values, np.zeros(2 * high - self._values.size)))
        self._values[low:high] += np.bincount(at - low, amount)

    @property
    def size(self) -> int:
        """One more than the largest number that was added to, at least."""
        return self._values.size

    def upto(self, size: int) -> NDArray[np.float64]:
        """Return float64[size]."""
        return np.concatenate((self._values, np.zeros(max(size - self._values.size, 0))))[:size]
