"""When requests arrive."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class Arrivals(StrEnum):
    """The process of arrivals."""

    POISSON = "poisson"
    GAMMA = "gamma"
    """Gaps of a gamma distribution with a given coefficient of variation."""
    BOOTSTRAP = "bootstrap"
    """Blocks of a measured series of gaps; see ``resampled``."""


def arrivals(
    process: Arrivals, rate: float, seconds: float, random: np.random.Generator, variation: float = 1.9
) -> NDArray[np.float64]:
    """Return the times of arrival within ``seconds``, float64[N], ascending from 0.

    Args:
        process: kind of the gaps.
        rate: requests/s in the mean, > 0.
        seconds: length.
        random: where chance comes from.
        variation: standard deviation of the gaps / mean; for GAMMA.
    """
    shape = 1.0 if process is Arrivals.POISSON else 1.0 / variation**2
    count = int(rate * seconds + 10 * variation * np.sqrt(rate * seconds) + 10)
    gaps = random.gamma(shape, 1.0 / (rate * shape), count)
    times: NDArray[np.float64] = np.cumsum(gaps) - gaps[0]
    return times[times < seconds]


def resampled(
    gaps: NDArray[np.float64], rate: float, seconds: float, random: np.random.Generator, block: int = 100
) -> NDArray[np.float64]:
    """Return arrivals whose gaps are blocks of measured ones, scaled to ``rate`` (moving-block bootstrap)."""
    scaled = gaps / gaps.mean() / rate
    blocks = int(rate * seconds / block * 1.5) + 2
    starts = random.integers(0, gaps.size - block + 1, blocks)
    drawn = np.concatenate([scaled[start : start + block] for start in starts])
    times: NDArray[np.float64] = np.cumsum(drawn) - drawn[0]
    return times[times < seconds]
