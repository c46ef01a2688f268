"""Phases 1 to 5 of ``Stable`` in their order: a plan before its standbys and before the verdict."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.hysteresis import Admission, admit_by_bytes, admit_by_rate, counts_wanted
from cacheroute.planning.newcomers import place_newcomers
from cacheroute.planning.options import AdmissionRule, StableOptions
from cacheroute.planning.pairs import Floats, Ints, Pairs, loads, shares
from cacheroute.planning.rebalance import Freedom, Rebalanced, ceilings, rebalance
from cacheroute.planning.report import AdmissionReport, Cause, RebalanceReport
from cacheroute.planning.resize import resize
from cacheroute.planning.retire import retire
from cacheroute.planning.types import Assignment, Demand, Fleet, Route


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A plan without its verdict.

    Attributes:
        demand: what it is made for.
        fleet: what it is made on.
        pairs: which key has which destinations; standbys are those in force.
        load: float64[R], cost/s.
        newcomers: int64[], keys that were cold, ascending.
        skipped: keys refused while slots were left.
        admission: what phase 2 did.
        rebalance: what phase 5 did.
        relief: requests/s that phase 5 took from destinations above the allowed load.
        moved_because: int8[B], Cause of a change of place, 0 for none.
        counted_because: int8[B], Cause of a change of the count, 0 for none.
    """

    demand: Demand
    fleet: Fleet
    pairs: Pairs
    load: Floats
    newcomers: Ints
    skipped: int
    admission: AdmissionReport
    rebalance: RebalanceReport
    relief: float
    moved_because: NDArray[np.int8]
    counted_because: NDArray[np.int8]

    @property
    def optional(self) -> bool:
        """Whether a key was moved, admitted, dropped or resized for another reason than a loss or the user's word."""
        counted = np.isin(self.counted_because, (Cause.ADMITTED, Cause.DROPPED, Cause.RAISED, Cause.LOWERED))
        fixed = (self.demand.route == Route.ADMIT) | (self.demand.count > 0)
        moved = np.isin(self.moved_because, (Cause.BALANCED, Cause.SWAPPED))
        return bool((moved | (counted & ~fixed)).any())


def draft(
    demand: Demand, fleet: Fleet, incumbent: Assignment, options: StableOptions, *, adapt: bool
) -> Draft:
    """Retire, admit, count, place and rebalance; without ``adapt`` only as far as it is forced.

    Forced are: destinations that are gone, what the user fixed, and slots that there are no more.
    """
    moved_because = np.zeros(demand.size, dtype=np.int8)
    retired, lost = retire(incumbent, demand, fleet)
    moved_because[lost] = Cause.LOST
    wanted = counts_wanted(retired, demand, fleet, options.hysteresis, adapt=adapt)
    admission = _admit(retired, wanted, demand, fleet, options, adapt=adapt)
    resized, counted_because = resize(retired, admission, wanted, demand, fleet)
    placed, newcomers = place_newcomers(resized, admission, wanted, demand, fleet)
    counted_because[newcomers] = Cause.ADMITTED
    pairs, report, relief = placed, RebalanceReport(), 0.0
    if adapt:
        outcome = _rebalance(placed, retired, (newcomers, lost), demand, fleet, options)
        pairs, report = outcome.pairs, outcome.report
        relief = _relief(placed, pairs, demand, fleet, options)
        for keys, cause in ((outcome.moved, Cause.BALANCED), (outcome.swapped, Cause.SWAPPED)):
            untold = keys[(moved_because[keys] == 0) & (counted_because[keys] != Cause.ADMITTED)]
            moved_because[untold] = cause
    return Draft(
        demand=demand,
        fleet=fleet,
        pairs=pairs,
        load=loads(pairs, demand, fleet),
        newcomers=newcomers,
        skipped=admission.skipped,
        admission=AdmissionReport(admission.threshold, admission.withheld),
        rebalance=report,
        relief=relief,
        moved_because=moved_because,
        counted_because=counted_because,
    )


def _relief(before: Pairs, after: Pairs, demand: Demand, fleet: Fleet, options: StableOptions) -> float:
    """Return by how much less is above the allowed load, requests/s."""
    cost = float(demand.cost.sum()) + demand.unkeyed_cost
    if cost <= 0 or before is after:
        return 0.0
    ceiling = ceilings(before, demand, fleet, _limit(fleet, options))
    excess = [np.maximum(loads(one, demand, fleet) - ceiling, 0.0).sum() for one in (before, after)]
    requests = (float(demand.rate.sum()) + demand.unkeyed) / cost
    return max(float(excess[0] - excess[1]), 0.0) * requests


def _limit(fleet: Fleet, options: StableOptions) -> float:
    return 1.0 + options.imbalance if fleet.present.all() else options.loss_limit


def _admit(
    retired: Pairs, wanted: Ints, demand: Demand, fleet: Fleet, options: StableOptions, *, adapt: bool
) -> Admission:
    admit = admit_by_rate if options.admission is AdmissionRule.RATE else admit_by_bytes
    return admit(retired.counts() > 0, wanted, demand, fleet, options.hysteresis, adapt=adapt)


def _rebalance(
    placed: Pairs,
    retired: Pairs,
    keys: tuple[Ints, Ints],
    demand: Demand,
    fleet: Fleet,
    options: StableOptions,
) -> Rebalanced:
    """Rebalance, with what raised counts move taken from the budget.

    In an interval that lost a destination only its keys move, and in one that got destinations keys move only to
    these; the next interval is free again. While a destination is absent, and its replacement may come, the
    imbalance that is accepted after a loss is the limit. ``keys`` are the newcomers and those that lost a destination.
    """
    newcomers, lost = keys
    free = np.zeros(demand.size, dtype=np.bool_)
    free[newcomers] = True
    anywhere = free.copy()
    anywhere[lost] = True
    unrestricted = lost.size == 0 and not fleet.joined.any()
    added = ~retired.has(placed.key, placed.destination, fleet.size) & ~free[placed.key]
    raised = float(shares(placed, demand.rate, fleet)[added].sum())
    total = float(demand.rate.sum()) + demand.unkeyed
    freedom = Freedom(
        ceiling=ceilings(placed, demand, fleet, _limit(fleet, options)),
        budget=max(options.budget * total - raised, 0.0) if options.budget < 1 else np.inf,
        free=free,
        anywhere=np.ones_like(anywhere) if unrestricted else anywhere,
        open=fleet.joined | unrestricted,
    )
    return rebalance(placed, demand, fleet, freedom)
