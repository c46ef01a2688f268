"""Phases 1 to 5 of ``Stable`` in their order: a plan before its standbys and before the verdict."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.admission import counts
from cacheroute.planning.hysteresis import Admission, admit_by_bytes, admit_by_rate, counts_wanted
from cacheroute.planning.newcomers import place_newcomers
from cacheroute.planning.options import AdmissionRule, StableOptions
from cacheroute.planning.pairs import Floats, Ints, Pairs, loads, shares
from cacheroute.planning.rebalance import Freedom, Rebalanced, ceilings, rebalance
from cacheroute.planning.report import AdmissionReport, Cause, RebalanceReport, Stop
from cacheroute.planning.resize import resize
from cacheroute.planning.retire import retire
from cacheroute.planning.standby import stand_in
from cacheroute.planning.types import Demand, Fleet, Route

_ROUNDS = 8


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


def draft(demand: Demand, fleet: Fleet, incumbent: Pairs, options: StableOptions, *, adapt: bool) -> Draft:
    """Retire, admit, count, place and rebalance; without ``adapt`` only as far as it is forced.

    Forced are: destinations that are gone, what the user fixed, and slots that there are no more. ``incumbent`` is the
    assignment in force.
    """
    moved_because = np.zeros(demand.size, dtype=np.int8)
    retired, lost = retire(incumbent, demand, fleet)
    moved_because[lost] = Cause.LOST
    if options.repairs_only:
        placed, admission = stand_in(retired, demand, fleet), Admission(retired.counts > 0, 0, 0.0, 0)
    else:
        placed, admission = _placed(retired, demand, fleet, options, adapt=adapt)
    counted_because = _counted(retired, placed, demand)
    new = (placed.counts > 0) & (retired.counts == 0)
    newcomers = np.flatnonzero(new)
    pairs, load, report, relief = placed, loads(placed, demand, fleet), RebalanceReport(), 0.0
    if adapt:
        limit = _limit(fleet, options)
        ceiling = ceilings(load, fleet, limit)
        outcome = _rebalance((placed, load, ceiling), retired, (newcomers, lost), demand, fleet, options)
        relief = _relief(load, outcome.load, ceiling, demand)
        pairs, load = outcome.pairs, outcome.load
        report = replace(outcome.report, limit=limit)
        for keys, cause in ((outcome.moved, Cause.BALANCED), (outcome.swapped, Cause.SWAPPED)):
            untold = keys[(moved_because[keys] == 0) & ~new[keys]]
            moved_because[untold] = cause
    return Draft(
        demand=demand,
        fleet=fleet,
        pairs=pairs,
        load=load,
        newcomers=newcomers,
        skipped=admission.skipped,
        admission=AdmissionReport(admission.threshold, admission.withheld, admission.bar),
        rebalance=report,
        relief=relief,
        moved_because=moved_because,
        counted_because=counted_because,
    )


def _placed(
    retired: Pairs, demand: Demand, fleet: Fleet, options: StableOptions, *, adapt: bool
) -> tuple[Pairs, Admission]:
    """Count, admit, resize and place, and again until the counts are what would be wanted next time.

    Once is mostly enough where all capacities are equal. Else a key may need fewer slots than it was admitted with,
    as counts are estimated by the smallest destination, and the slots that are left go to others. A key in force
    that does not fit is tried with as few as a newcomer.
    """
    known = retired
    wanted = counts_wanted(known, demand, fleet, options.hysteresis, adapt=adapt)
    for _ in range(_ROUNDS):
        admission = _admit(known, wanted, demand, fleet, options, adapt=adapt)
        placed = resize(known, admission, wanted, demand, fleet)
        placed = place_newcomers(placed, admission, wanted, demand, fleet)
        now, keys = placed.counts, np.flatnonzero(admission.admitted)
        dropped = np.unique(known.key[now[known.key] == 0])
        fewest = _fewest(dropped, demand, fleet)
        exact = _equal(fleet) and np.array_equal(now[keys], wanted[keys])
        if exact and (wanted[dropped] <= fewest).all():
            break
        before, back = known.counts, known.where(now[known.key] == 0)
        known = placed.extended(back.key, back.destination)
        again = counts_wanted(known, demand, fleet, options.hysteresis, adapt=adapt)
        again[dropped] = np.minimum(again[dropped], fewest)
        if np.array_equal(again, wanted) and np.array_equal(known.counts, before):
            break
        wanted = again
    return stand_in(placed, demand, fleet), admission


def _fewest(keys: Ints, demand: Demand, fleet: Fleet) -> Ints:
    """Return what these keys would be given if they were new."""
    fixed = demand.count[keys]
    number = np.where(fixed > 0, fixed, counts(demand.rate[keys], fleet))
    return np.clip(number, 1, max(int(np.count_nonzero(fleet.present)), 1))


def _equal(fleet: Fleet) -> bool:
    return bool(fleet.capacity.min() == fleet.capacity.max())


def _counted(retired: Pairs, placed: Pairs, demand: Demand) -> NDArray[np.int8]:
    """Return the Cause of each change of a count, int8[B], 0 for none."""
    before, after = retired.counts, placed.counts
    because = np.zeros(demand.size, dtype=np.int8)
    changed = np.flatnonzero(before != after)
    was, now = before[changed], after[changed]
    cold = np.where(demand.route[changed] == Route.COLD, Cause.FORCED_COLD, Cause.DROPPED)
    resized = np.where(now > was, Cause.RAISED, Cause.LOWERED)
    came = np.where(demand.route[changed] == Route.ADMIT, Cause.FIXED, Cause.ADMITTED)
    fixed = np.where(demand.count[changed] > 0, Cause.FIXED, resized)
    because[changed] = np.where(was == 0, came, np.where(now == 0, cold, fixed))
    return because


def _relief(before: Floats, after: Floats, ceiling: Floats, demand: Demand) -> float:
    """Return by how much less load is above the ceiling, requests/s."""
    cost = float(demand.cost.sum()) + demand.unkeyed_cost
    if cost <= 0 or before is after:
        return 0.0
    excess = [np.maximum(load - ceiling, 0.0).sum() for load in (before, after)]
    requests = (float(demand.rate.sum()) + demand.unkeyed) / cost
    return max(float(excess[0] - excess[1]), 0.0) * requests


def _limit(fleet: Fleet, options: StableOptions) -> float:
    return 1.0 + options.imbalance if fleet.present.all() else options.loss_limit


def _admit(
    retired: Pairs, wanted: Ints, demand: Demand, fleet: Fleet, options: StableOptions, *, adapt: bool
) -> Admission:
    admit = admit_by_rate if options.admission is AdmissionRule.RATE else admit_by_bytes
    return admit(retired.counts > 0, wanted, demand, fleet, options.hysteresis, adapt=adapt)


def _rebalance(
    found: tuple[Pairs, Floats, Floats],
    retired: Pairs,
    keys: tuple[Ints, Ints],
    demand: Demand,
    fleet: Fleet,
    options: StableOptions,
) -> Rebalanced:
    """Rebalance, with what raised counts move taken from the budget.

    In an interval that lost a destination only its keys move, and in one that got destinations keys move only to
    these; the next interval is free again. While a destination is absent, and its replacement may come, the
    imbalance that is accepted after a loss is the limit. ``found`` are the pairs, their load and
    its ceilings, ``keys`` the newcomers and those that lost a destination.
    """
    placed, load, ceiling = found
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
        ceiling=ceiling,
        budget=max(options.budget * total - raised, 0.0) if options.budget < 1 else np.inf,
        free=free,
        anywhere=np.ones_like(anywhere) if unrestricted else anywhere,
        open=fleet.joined | unrestricted,
    )
    done = rebalance(placed, load, demand, fleet, freedom)
    if done.report.stop is Stop.TOO_LARGE and raised > 0:
        return replace(done, report=replace(done.report, stop=Stop.BUDGET))
    return done
