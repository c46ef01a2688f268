"""Policy ``Paper``: Algorithm 1 of CacheRoute (arXiv 2608.19677), from scratch each interval.

Where the paper is silent: ties go to the lower index (the name, bytewise); a key that does not fit is skipped and
the scan goes on; k_b is at most R. The paper's fleet is uniform. On an unequal one the count is taken from the
smallest capacity, and destinations are compared by load / capacity, which orders as the load itself where all
capacities are equal.
"""

from dataclasses import dataclass, replace

import numpy as np

from cacheroute.planning.admission import admit
from cacheroute.planning.changes import changes_between
from cacheroute.planning.measures import churn, imbalance
from cacheroute.planning.pairs import Pairs
from cacheroute.planning.placement import cold_load, place, standbys
from cacheroute.planning.report import Cause, PlanReport
from cacheroute.planning.types import UNKNOWN, Assignment, Demand, Fleet, Plan


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Choices that the paper leaves open.

    Attributes:
        stop_at_first: end the admission at the first key that does not fit instead of skipping it.
    """

    stop_at_first: bool = False


DEFAULT_OPTIONS = PaperOptions()


def plan_paper(
    demand: Demand,
    fleet: Fleet,
    previous: Assignment | None = None,
    *,
    options: PaperOptions = DEFAULT_OPTIONS,
) -> Plan:
    """Plan from scratch; ``previous`` is only compared with, which is what makes this policy reshuffle.

    O(B + A log A + Σk log R): only keys that can be admitted are sorted.
    """
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
    made = Plan(admitted, offsets, members, standby, load, report)
    return made if previous is None else replace(made, report=_compared(made, previous, demand, fleet))


def _compared(made: Plan, previous: Assignment, demand: Demand, fleet: Fleet) -> PlanReport:
    """Return the report with what changed against the assignment in force; keys in both moved because Paper replans."""
    before = Pairs.of_assignment(previous, demand.size, fleet.size)
    after = Pairs.of_assignment(made, demand.size, fleet.size)
    moved = np.full(demand.size, Cause.REPLANNED, dtype=np.int8)
    counted = moved.copy()
    was, now = before.counts > 0, after.counts > 0
    counted[now & ~was], counted[was & ~now] = Cause.ADMITTED, Cause.DROPPED
    changes = changes_between(before, after, demand, fleet, (moved, counted))
    return replace(
        made.report,
        churn=churn(previous, made, fleet.size),
        rewarm_rate=float(changes.rate[changes.target != UNKNOWN].sum()),
        keys_moved=int(np.unique(changes.key).size),
        changes=changes,
    )
