"""Tenants whose rates drift: a lognormal random walk, and arrivals that follow it; a pure function of a seed.

The paper's drift: every control interval each tenant's rate is multiplied by exp(0.3 z), z a standard normal of its
own. The tenants' shares start as in the plain demonstration, and after each step they are capped as there and sum to 1
again, so the total rate is constant.
"""

import numpy as np
from numpy.typing import NDArray

from cacheroute.demo.workload import Arrivals, arrivals, capped, weights

SIGMA_PER_INTERVAL = 0.3
"""Of the steps of a tenant's log rate (arXiv 2608.19677, section 5)."""


def walk(tenants: int, intervals: int, seed: int) -> NDArray[np.float64]:
    """Return each tenant's share of the requests in each interval, float64[intervals, tenants]; rows sum to 1."""
    steps = np.random.default_rng((seed, tenants)).normal(0.0, SIGMA_PER_INTERVAL, (intervals, tenants))
    steps[0] = 0.0
    weight = weights(tenants, seed) * np.exp(np.cumsum(steps, axis=0))
    return np.stack([capped(row) for row in weight])


def drifting_arrivals(share: NDArray[np.float64], rate: float, interval: float, seed: int) -> Arrivals:
    """Return Poisson arrivals at ``rate`` requests/s whose tenants follow the walk.

    Args:
        share: float64[intervals, tenants], by ``walk``.
        rate: of all tenants together, requests/s, the same in every interval.
        interval: seconds.
        seed: of the arrivals.
    """
    parts = [arrivals(row, rate, interval, (seed, number)) for number, row in enumerate(share)]
    return Arrivals(
        seconds=np.concatenate([part.seconds + interval * number for number, part in enumerate(parts)]),
        tenant=np.concatenate([part.tenant for part in parts]),
    )
