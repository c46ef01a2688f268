"""A histogram that costs one search per observation and is turned into Prometheus' form only when scraped."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Tally:
    """Counts of observations by bucket."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        """Sum of the observed values."""

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value ``times`` times."""
        self._counts[bisect_left(self._bounds, value)] += times
        self.total += value * times

    def buckets(self) -> list[tuple[str, float]]:
        """Return the cumulative counts by upper bound, ``+Inf`` last."""
        names = [*(repr(float(bound)) for bound in self._bounds), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, accumulate(self._counts), strict=True)]


def one_two_five(most: int) -> list[float]:
    """Return the bounds 1, 2, 5, 10, 20, … up to ``most``."""
    bounds = (float(mantissa * 10**exponent) for exponent in range(len(str(most))) for mantissa in (1, 2, 5))
    return [bound for bound in bounds if bound <= most]
