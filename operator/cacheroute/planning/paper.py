"""Policy ``Paper``: Algorithm 1 of CacheRoute (arXiv 2608.19677), from scratch each interval.

Where the paper is silent: ties go to the lower index (the name, bytewise); a key that does not fit is skipped and
the scan goes on; k_b is at most R. The paper's fleet is uniform. On an unequal one the count is taken from the
smallest capacity, and destinations are compared by load / capacity, which orders as the load itself where all
capacities are equal.
"""

from dataclasses import dataclass

import numpy as np

from cacheroute.planning.admission import admit
from cacheroute.planning.measures import imbalance
from cacheroute.planning.placement import cold_load, place, standbys
from cacheroute.planning.types import Demand, Fleet, Plan, PlanReport


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Choices that the paper leaves open.

    Attributes:
        stop_at_first: end the admission at the first key that does not fit instead of skipping it.
    """

    stop_at_first: bool = False


DEFAULT_OPTIONS = PaperOptions()


def plan_paper(
    demand: Demand, fleet: Fleet, previous: Plan | None = None, *, options: PaperOptions = DEFAULT_OPTIONS
) -> Plan:
    """Plan from scratch; ``previous`` is not looked at, which is what makes this policy reshuffle.

    O(B + A log A + Σk log R): only keys that can be admitted are sorted.
    """
    del previous
    admitted, count, skipped = admit(demand.rate, fleet, stop_at_first=options.stop_at_first)
    rate = demand.rate[admitted]
    offsets = np.concatenate(([0], np.cumsum(count)))
    cold = cold_load(demand, admitted, fleet)
    members, load = place(rate, count, cold, fleet)
    standby = standbys(rate, offsets, members, load, fleet)
    admitted_rate = float(rate.sum())
    report = PlanReport(
        keys_known=int(demand.rate.size),
        keys_admitted=int(admitted.size),
        keys_skipped=skipped,
        slots_used=int(offsets[-1]),
        slots_total=fleet.slots,
        admitted_rate=admitted_rate,
        total_rate=admitted_rate + float(cold.sum()),
        imbalance=imbalance(load, fleet.capacity),
        overloaded=np.flatnonzero(demand.rate > fleet.capacity.sum()),
    )
    return Plan(admitted, offsets, members, standby, load, report)
