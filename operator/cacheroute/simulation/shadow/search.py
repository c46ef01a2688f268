"""Searches for the most load that a fleet holds, and the smallest fleet that holds a load."""

from collections.abc import Callable
from typing import NamedTuple

PRECISION = 1.05
"""Capacities are found to 5 %."""
SLOWEST, FASTEST = 1.0 / 64.0, 64.0
"""Times the load of the trace."""


class Found(NamedTuple):
    """What a search found."""

    value: float
    censored: str
    """"<" where not even the least that was tried holds, "≥" where the most does, else empty."""


def most(holds: Callable[[float], bool], start: float = 1.0) -> Found:
    """Return the largest factor that holds, to ``PRECISION``; what holds is taken to hold for less as well."""
    low = high = start
    if holds(start):
        while (high := min(low * 2.0, FASTEST)) > low and holds(high):
            low = high
        if high == low:
            return Found(low, "≥")
    else:
        while (low := max(high / 2.0, SLOWEST)) < high and not holds(low):
            high = low
        if low == high:
            return Found(low, "<")
    while high / low > PRECISION:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return Found(low, "")


def fewest(holds: Callable[[int], bool], start: int, limit: int) -> Found:
    """Return the smallest number that holds, 1 to ``limit``; what holds is taken to hold for more as well."""
    low, high = 0, start
    while not holds(high):
        if high >= limit:
            return Found(float(limit), "≥")
        low, high = high, min(2 * high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Found(float(high), "")
