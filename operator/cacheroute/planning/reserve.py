"""Room for the standbys: with newcomers a few destinations are kept below the mean, so that a loss finds space.

A large key goes whole to one destination when its own is lost. Where that one would be too hot, keys that have just
been admitted, and are warm nowhere, are placed elsewhere instead. Keys in force never move for it.
"""

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.options import StableOptions
from cacheroute.planning.pairs import Floats, Ints, Pairs
from cacheroute.planning.rebalance import Freedom, ceilings, rebalance
from cacheroute.planning.report import LossReport
from cacheroute.planning.standby import choose_standbys
from cacheroute.planning.types import Demand, Fleet

_TRIES = 12


def make_room(
    chosen: tuple[Pairs, Floats, LossReport],
    newcomers: Ints,
    demand: Demand,
    fleet: Fleet,
    options: StableOptions,
) -> tuple[Pairs, Floats, LossReport]:
    """Lower the coldest destinations step by step while that lowers the worst imbalance after a single loss.

    No destination gets above 1 + ε of the mean, nor is one lowered below 1 - 2 ε.

    Args:
        chosen: the pairs with their standbys, the load that they make, and what a single loss does.
        newcomers: int64[], keys that may be placed elsewhere.
        demand: rates and costs.
        fleet: the destinations.
        options: the allowed imbalance.
    """
    pairs, load, loss = chosen
    limit = options.loss_limit
    free = np.zeros(demand.size, dtype=np.bool_)
    free[newcomers] = True
    ceiling = ceilings(load, fleet, 1.0 + options.imbalance)
    floor = ceiling * (1.0 - 2.0 * options.imbalance) / (1.0 + options.imbalance)
    lowered = np.zeros(fleet.size, dtype=np.bool_)
    for _ in range(min(_TRIES, fleet.size - 1)):
        needed = _room_needed(pairs, float(load.sum()), loss, demand, fleet, limit)
        candidates = (needed >= floor) & ~lowered
        if loss.imbalance <= limit or not candidates.any():
            break
        target = _coldest(load, fleet, candidates)
        lowered[target] = True
        ceiling[target] = min(ceiling[target], needed[target])
        freedom = Freedom(
            ceiling=ceiling, budget=0.0, free=free, anywhere=free, open=np.zeros(fleet.size, dtype=np.bool_)
        )
        tried = rebalance(pairs, load, demand, fleet, freedom)
        after, worst = choose_standbys(tried.pairs, tried.load, demand, fleet, limit)
        if worst.imbalance < loss.imbalance:
            pairs, load, loss = after, tried.load, worst
    return pairs, load, loss


def _room_needed(
    pairs: Pairs, total: float, loss: LossReport, demand: Demand, fleet: Fleet, limit: float
) -> Floats:
    """Return what each destination may carry so that it can take the largest key of the worst loss, float64[R].

    ``total`` is all load, cost/s. Negative infinity for absent destinations and the lost one.
    """
    keys = pairs.key[pairs.destination == loss.destination]
    capacity = fleet.relative * fleet.present
    capacity[loss.destination] = 0.0
    whole = float(capacity.sum())
    if keys.size == 0 or whole <= 0:
        return np.full(fleet.size, -np.inf)
    room = limit * (total / whole) * capacity - float(demand.cost[keys].max())
    return np.where(capacity > 0, room, -np.inf)


def _coldest(load: Floats, fleet: Fleet, candidates: NDArray[np.bool_]) -> int:
    """Return the least utilised of ``candidates``, of which there is one."""
    utilisation = np.where(candidates, load * fleet.scale, np.inf)
    return int(np.argmin(utilisation))
