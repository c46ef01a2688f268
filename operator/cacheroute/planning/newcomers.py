"""Phase 4 of ``Stable``: where keys go that were cold."""

import numpy as np

from cacheroute.planning.hysteresis import Admission
from cacheroute.planning.pairs import Ints, Pairs, loads_without
from cacheroute.planning.placement import place_covering
from cacheroute.planning.types import Demand, Fleet


def place_newcomers(
    counted: Pairs, admission: Admission, wanted: Ints, demand: Demand, fleet: Fleet
) -> Pairs:
    """Place newcomers by LPT on top of the load of the keys in force.

    Args:
        counted: the keys in force.
        admission: who is admitted.
        wanted: int64[B], counts at most.
        demand: rates and costs.
        fleet: the destinations.

    Returns:
        All pairs.
    """
    newcomers = np.flatnonzero(admission.admitted & (counted.counts == 0))
    if newcomers.size == 0:
        return counted
    order = newcomers[np.lexsort((newcomers, -demand.cost[newcomers]))]
    base = loads_without(newcomers, counted, demand, fleet)
    sizes, members = place_covering(
        (demand.rate[order], demand.cost[order]), wanted[order], base, fleet, demand.count[order] > 0
    )
    return counted.extended(np.repeat(order, sizes), members)
