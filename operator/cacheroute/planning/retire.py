"""Phase 1 of ``Stable``: destinations that are gone for good are replaced, keys first to their own standbys.

A destination that may come back, or whose replacement may come, is absent and not gone: it keeps its keys, so that
the replacement inherits them all (the caller decides how long, see domain/seating.py).
"""

import numpy as np

from cacheroute.planning.pairs import Ints, Pairs, loads_without
from cacheroute.planning.placement import least_utilised
from cacheroute.planning.types import UNKNOWN, Demand, Fleet


def retire(pairs: Pairs, demand: Demand, fleet: Fleet) -> tuple[Pairs, Ints]:
    """Replace each destination that is gone by the key's standby, or else by the least loaded that it has not.

    Keys are taken by decreasing cost, ties by index. A key that has every present destination loses the place.

    Args:
        pairs: the assignment in force.
        demand: costs.
        fleet: the destinations.

    Returns:
        The pairs, none of which is gone, and the keys that lost a destination, int64[], ascending.
    """
    gone = pairs.destination == UNKNOWN
    if not gone.any():
        return pairs, np.empty(0, dtype=np.int64)
    kept, places = pairs.where(~gone), pairs.key[gone]
    lost = np.unique(places)
    load = loads_without(lost, kept, demand, fleet)
    share = demand.cost / np.maximum(pairs.counts, 1)
    taken = {key: set(members) for key, members in kept.members(lost).items()}
    for key, members in taken.items():
        load[list(members)] += share[key]
    added: list[tuple[int, int]] = []
    standby = pairs.standby.copy()
    for key in places[np.lexsort((places, -share[places]))].tolist():
        target = int(standby[key])
        if target == UNKNOWN or target in taken[key] or not fleet.present[target]:
            target = least_utilised(load, fleet, taken[key])
        if target == UNKNOWN:
            continue
        load[target] += share[key]
        taken[key].add(target)
        added.append((key, target))
        standby[key] = UNKNOWN if target == standby[key] else standby[key]
    rows = np.array(added, dtype=np.int64).reshape(-1, 2)
    return kept.extended(rows[:, 0], rows[:, 1]).with_standby(standby), lost
