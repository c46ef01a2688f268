"""The capacity of a policy: the highest load of a ladder at which the objective holds.

Rules of CacheRoute (arXiv 2608.19677): the 99th percentile of the time to the first token is at most the objective and
at most 5 % of the requests fail; per run, then the mean over seeds. A capacity at either end of the ladder is censored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.figures import FleetFigures

LADDER_70B = (30, 60, 80, 100, 120, 140, 160, 180, 220, 300)
LADDER_8B = (30, 60, 100, 160, 240, 360, 500)
"""Offered requests/s."""
MOST_FAILED = 0.05
_T95 = (0.0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t for 95 % by degrees of freedom."""


class Censored(StrEnum):
    """Where a capacity lies beyond what was tried."""

    NO = ""
    BELOW = "below"
    """The lowest load of some run already failed."""
    ABOVE = "above"
    """The highest load of some run still held."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds with half of its 95 % confidence interval (0 for a single value)."""

    value: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of one policy."""

    load: Mean
    """Requests/s."""
    censored: Censored


def mean(values: Sequence[float]) -> Mean:
    """Return the mean and half of the 95 % interval.

    Raises:
        SimulationError: there is no value.
    """
    if not values:
        raise SimulationError("a mean needs at least one value")
    size = len(values)
    middle = math.fsum(values) / size
    if size == 1:
        return Mean(middle, 0.0)
    spread = math.sqrt(math.fsum((one - middle) ** 2 for one in values) / (size - 1))
    return Mean(middle, _T95[min(size - 1, len(_T95) - 1)] * spread / math.sqrt(size))


def holds(figures: FleetFigures, objective: float) -> bool:
    """Tell whether a run meets the objective, seconds."""
    return figures.ttft_p99 <= objective and figures.failed <= MOST_FAILED


def capacity(ladder: Sequence[float], runs: Sequence[Sequence[FleetFigures]], objective: float) -> Capacity:
    """Return the capacity from the figures of each seed at each load of the ladder.

    Args:
        ladder: offered loads, ascending, requests/s.
        runs: for each seed the figures at every load.
        objective: limit on the 99th percentile of the time to the first token, seconds.
    """
    knees = [_knee(ladder, run, objective) for run in runs]
    if any(knee == 0 for knee in knees):
        censored = Censored.BELOW
    elif any(knee == ladder[-1] for knee in knees):
        censored = Censored.ABOVE
    else:
        censored = Censored.NO
    return Capacity(mean([float(knee) for knee in knees]), censored)


def _knee(ladder: Sequence[float], run: Sequence[FleetFigures], objective: float) -> float:
    """Return the highest load at which the objective holds; 0 where it never does."""
    return max((load for load, one in zip(ladder, run, strict=True) if holds(one, objective)), default=0)
