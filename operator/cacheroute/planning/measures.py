"""Measures of plans: balance, and what changes between two of them."""

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.types import Assignment


def imbalance(
    load: NDArray[np.float64], capacity: NDArray[np.float64], present: NDArray[np.bool_] | None = None
) -> float:
    """Return ρ = max_r(load[r]/capacity[r]) / mean, dimensionless; 0 where there is no load.

    The mean is the fleet's, Σ load / Σ capacity, which no move changes; where all capacities are equal it is the
    mean of load / capacity. Absent destinations are left out of both.
    """
    if present is not None:
        load, capacity = load[present], capacity[present]
    if capacity.size == 0:
        return 0.0
    scale = capacity / capacity.max()  # in proportion to capacity, and never overflows
    mean = float(load.sum()) / float(scale.sum())
    return float((load / scale).max()) / mean if mean > 0 else 0.0


def pairs(plan: Assignment, destinations: int) -> NDArray[np.int64]:
    """Return every (key, destination) of the plan as key * destinations + destination, ascending, int64[].

    Destinations that are gone (UNKNOWN) are left out.
    """
    keys = np.repeat(plan.admitted, np.diff(plan.offsets))
    known = plan.members >= 0
    return np.sort(keys[known] * destinations + plan.members[known])


def churn(before: Assignment, after: Assignment, destinations: int) -> float:
    """Return 1 - Jaccard over (key, destination) pairs, 0..1 (the paper's definition, section 5)."""
    common = np.intersect1d(pairs(before, destinations), pairs(after, destinations), assume_unique=True).size
    union = before.members.size + after.members.size - common
    return 1.0 - common / union if union else 0.0


def rewarm_rate(before: Assignment, after: Assignment, rate: NDArray[np.float64], destinations: int) -> float:
    """Return the share of the request rate that lands on destinations newly given to their key, 0..1."""
    total = float(rate.sum())
    if total <= 0:
        return 0.0
    counts = np.diff(after.offsets)
    share = np.repeat(rate[after.admitted] / counts, counts)
    keys = np.repeat(after.admitted, counts)
    fresh = ~np.isin(keys * destinations + after.members, pairs(before, destinations))
    return float(share[fresh].sum()) / total
