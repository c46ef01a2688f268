"""Measures of plans: balance, and what changes between two of them."""

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.types import Plan


def imbalance(load: NDArray[np.float64], capacity: NDArray[np.float64]) -> float:
    """Return ρ = max_r(load[r]/capacity[r]) / mean, dimensionless; 0 where there is no load."""
    utilisation = load * (capacity.min() / capacity)  # in proportion to load / capacity, and never overflows
    mean = float(utilisation.mean())
    return float(utilisation.max()) / mean if mean > 0 else 0.0


def pairs(plan: Plan, destinations: int) -> NDArray[np.int64]:
    """Return every (key, destination) of the plan as key * destinations + destination, ascending, int64[Σk]."""
    keys = np.repeat(plan.admitted, np.diff(plan.offsets))
    return np.sort(keys * destinations + plan.members)


def churn(before: Plan, after: Plan, destinations: int) -> float:
    """Return 1 - Jaccard over (key, destination) pairs, 0..1 (the paper's definition, section 5)."""
    old, new = pairs(before, destinations), pairs(after, destinations)
    common = np.intersect1d(old, new, assume_unique=True).size
    union = old.size + new.size - common
    return 1.0 - common / union if union else 0.0


def rewarm_rate(before: Plan, after: Plan, rate: NDArray[np.float64], destinations: int) -> float:
    """Return the share of the request rate that lands on destinations newly given to their key, 0..1."""
    total = float(rate.sum())
    if total <= 0:
        return 0.0
    counts = np.diff(after.offsets)
    share = np.repeat(rate[after.admitted] / counts, counts)
    keys = np.repeat(after.admitted, counts)
    fresh = ~np.isin(keys * destinations + after.members, pairs(before, destinations))
    return float(share[fresh].sum()) / total
