"""Uncertainty of what one trace says: its time is cut into blocks, which are drawn again and again."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCKS, DRAWS = 24, 400
Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def difference_of_hits(prompt: NDArray[np.int64], one: NDArray[np.int64], two: NDArray[np.int64]) -> Interval:
    """Return the token hit of ``two`` minus that of ``one``, percent.

    Args:
        prompt: int64[N], prompt tokens of requests in order of arrival.
        one: int64[N], of them found in the cache.
        two: the same of the other simulation.
    """
    blocks = [
        (two[part].sum() - one[part].sum(), prompt[part].sum())
        for part in np.array_split(np.arange(prompt.size), min(BLOCKS, prompt.size))
    ]
    gained, asked = (np.array(column, dtype=float) for column in zip(*blocks, strict=True))
    drawn = np.random.default_rng(0).integers(0, gained.size, (DRAWS, gained.size))
    return _interval(
        100.0 * gained.sum() / asked.sum(), 100.0 * gained[drawn].sum(axis=1) / asked[drawn].sum(axis=1)
    )


def ratio_of_tails(one: Floats, two: Floats, percent: float = 99.0) -> Interval:
    """Return the percentile of ``two`` over that of ``one``; values of requests in order of arrival."""
    parts = np.array_split(np.arange(one.size), min(BLOCKS, one.size))
    random = np.random.default_rng(0)
    ratios = []
    for _ in range(DRAWS // 4):
        chosen = np.concatenate([parts[n] for n in random.integers(0, len(parts), len(parts))])
        ratios.append(_ratio(one[chosen], two[chosen], percent))
    return _interval(_ratio(one, two, percent), np.array(ratios))


def _ratio(one: Floats, two: Floats, percent: float) -> float:
    below = float(np.percentile(one, percent, method="higher"))
    above = float(np.percentile(two, percent, method="higher"))
    return above / below if below > 0 and np.isfinite(below) else (1.0 if above == below else np.inf)


def _interval(value: float, drawn: Floats) -> Interval:
    low, high = np.percentile(drawn, (2.5, 97.5), method="nearest")
    return Interval(float(value), float(low), float(high))
