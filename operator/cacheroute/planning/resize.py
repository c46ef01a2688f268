"""Phase 3 of ``Stable``: who is not admitted leaves, and keys in force get more or fewer destinations."""

import numpy as np

from cacheroute.planning.hysteresis import Admission
from cacheroute.planning.pairs import ROUNDING, Floats, Ints, Pairs, loads
from cacheroute.planning.placement import least_utilised
from cacheroute.planning.types import UNKNOWN, Demand, Fleet


def resize(retired: Pairs, admission: Admission, wanted: Ints, demand: Demand, fleet: Fleet) -> Pairs:
    """Add the least loaded destinations until the rate is covered, take away the most loaded.

    Args:
        retired: the assignment in force, none of its destinations gone.
        admission: who is admitted.
        wanted: int64[B], counts.
        demand: rates and costs.
        fleet: the destinations.

    Returns:
        The pairs of keys in force that are still admitted.
    """
    now = retired.counts
    pairs = retired.where(admission.admitted[retired.key])
    changing = np.flatnonzero((now > 0) & admission.admitted & (now != wanted))
    if changing.size == 0:
        return pairs
    load = loads(pairs, demand, fleet)
    members = pairs.members(changing)
    for key in changing[np.lexsort((changing, -demand.cost[changing]))].tolist():
        members[key] = _resized(members[key], key, int(wanted[key]), demand, fleet, load)
    rows = [(key, r) for key, found in members.items() for r in found]
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    rest = pairs.where(~np.isin(pairs.key, changing))
    return rest.extended(table[:, 0], table[:, 1])


def _resized(
    members: list[int], key: int, wanted: int, demand: Demand, fleet: Fleet, load: Floats
) -> list[int]:
    """Add the least loaded destination until the rate is covered, or take away the most loaded; ``load`` follows."""
    rate, exact = float(demand.rate[key]), bool(demand.count[key])
    chosen, scale = list(members), fleet.scale
    while len(chosen) < wanted and (exact or rate > float(fleet.capacity[chosen].sum()) * (1.0 + ROUNDING)):
        target = least_utilised(load, fleet, set(chosen))
        if target == UNKNOWN:
            break
        chosen.append(target)
        load[target] += demand.cost[key] / len(chosen)
    while len(chosen) > wanted:
        hottest = max(chosen, key=lambda r: (not fleet.present[r], load[r] * scale[r], -r))
        load[hottest] -= demand.cost[key] / len(chosen)
        chosen.remove(hottest)
    return chosen
