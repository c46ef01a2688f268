"""Rates of keys, and how they change."""

import numpy as np
from numpy.typing import NDArray

PAPER_KEYS, SIGMA, LARGEST_SHARE = 128_824, 1.65, 0.0029
"""The primary workload of CacheRoute (arXiv 2608.19677): Gini 0.756, the top 4 % of the keys have 47 % of the rate."""

Floats = NDArray[np.float64]


def highest_shares(keys: int, seed: int = 0) -> Floats:
    """Return the shares of the ``keys`` highest of the paper's keys, float64[keys], highest first, sum 1."""
    random = np.random.default_rng(seed)
    everyone = np.sort(random.lognormal(0.0, SIGMA, PAPER_KEYS))[::-1]
    capped = np.minimum(everyone, LARGEST_SHARE * everyone.sum())[:keys]
    shares: Floats = capped / capped.sum()
    return shares


def with_whales(shares: Floats, whales: int, head: float) -> Floats:
    """Return shares in which the first ``whales`` keys have ``head`` of the traffic, evenly, and the others the rest."""
    rest = shares[whales:] / shares[whales:].sum() * (1.0 - head)
    return np.concatenate((np.full(whales, head / whales), rest))


def drifted(shares: Floats, sigma: float, seed: int) -> Floats:
    """Return the shares after one lognormal step of a random walk, sum 1."""
    random = np.random.default_rng(seed)
    moved = shares * np.exp(sigma * random.standard_normal(shares.size))
    result: Floats = moved / moved.sum()
    return result
