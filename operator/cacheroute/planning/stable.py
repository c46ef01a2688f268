"""Policy ``Stable``: the plan in force, changed where it must be and where that pays.

Seven phases, each a function of values: retire, admit, count, place, rebalance (``draft``), stand by, and hold or
install. What each did, and why each key moved, is in the report.
"""

from dataclasses import replace

import numpy as np

from cacheroute.planning.changes import changes_between
from cacheroute.planning.draft import Draft, draft
from cacheroute.planning.measures import churn, imbalance
from cacheroute.planning.options import DEFAULT_OPTIONS, StableOptions
from cacheroute.planning.pairs import Ints, Pairs
from cacheroute.planning.regime import Regime, diagnose
from cacheroute.planning.report import PlanReport, Verdict, VerdictReport
from cacheroute.planning.reserve import make_room
from cacheroute.planning.standby import choose_standbys
from cacheroute.planning.types import NOTHING, Assignment, Demand, Fleet, Plan
from cacheroute.planning.verdict import weigh


def plan_stable(
    demand: Demand,
    fleet: Fleet,
    previous: Assignment | None = None,
    *,
    options: StableOptions = DEFAULT_OPTIONS,
) -> Plan:
    """Plan from the assignment in force; with unchanged input the result is the assignment in force.

    Optional changes are held where their predicted benefit within the interval does not exceed the predicted cost
    of warming what moves. Forced ones are made in any case: destinations that are gone, what the user fixed, and
    slots that there are no more.
    """
    incumbent = previous if previous is not None else NOTHING
    before = Pairs.of_assignment(incumbent, demand.size, fleet.size)
    made = draft(demand, fleet, before, options, adapt=not options.repairs_only)
    regime = _regime(made)
    verdict = VerdictReport()
    if made.optional and not options.repairs_only:
        verdict = VerdictReport(Verdict.INSTALLED)
        if options.weigh and incumbent.admitted.size:
            kept = draft(demand, fleet, before, options, adapt=False)
            verdict = weigh(made, kept, regime, options)
            if verdict.verdict is Verdict.HELD:
                made = replace(kept, admission=made.admission)
    return _finished(made, (incumbent, before), verdict, regime, options)


def _regime(made: Draft) -> Regime:
    count = made.pairs.counts
    admitted = np.flatnonzero(count)
    fleet = made.fleet
    balance = imbalance(made.load, fleet.capacity, fleet.present)
    slots = float(fleet.warm_slots.mean())
    return diagnose(made.demand.rate, admitted, count[admitted], (fleet.size, slots), balance)


def _finished(
    made: Draft,
    former: tuple[Assignment, Pairs],
    verdict: VerdictReport,
    regime: Regime,
    options: StableOptions,
) -> Plan:
    """Choose the standbys, make room for them among the newcomers, and report.

    ``former`` is the assignment in force, as it was given and as pairs.
    """
    incumbent, before = former
    demand, fleet = made.demand, made.fleet
    load = made.load
    pairs, loss = choose_standbys(made.pairs, load, demand, fleet, options.loss_limit)
    if 2 * made.newcomers.size > np.count_nonzero(pairs.counts) and loss.imbalance > options.loss_limit:
        pairs, load, loss = make_room((pairs, load, loss), made.newcomers, demand, fleet, options)
    changes = changes_between(before, pairs, demand, fleet, (made.moved_because, made.counted_because))
    count = pairs.counts
    admitted = np.flatnonzero(count)
    changed = int(np.count_nonzero(pairs.standby[admitted] != before.standby[admitted]))
    admitted = admitted[np.argsort(-demand.rate[admitted], kind="stable")]
    ends = np.cumsum(count)
    position = _positions(ends - count, count, admitted)
    assignment = Assignment(
        admitted=admitted,
        offsets=np.concatenate(([0], np.cumsum(count[admitted]))),
        members=pairs.destination[position],
        standby=pairs.standby[admitted],
    )
    admitted_rate = float(demand.rate[admitted].sum())
    report = PlanReport(
        keys_known=demand.size,
        keys_admitted=int(admitted.size),
        keys_skipped=made.skipped,
        slots_used=int(count.sum()),
        slots_total=fleet.slots,
        admitted_rate=admitted_rate,
        total_rate=admitted_rate + float(np.sort(demand.rate[count == 0]).sum()) + demand.unkeyed,
        imbalance=imbalance(load, fleet.capacity, fleet.present),
        overloaded=np.flatnonzero(demand.rate > fleet.capacity[fleet.present].sum()),
        churn=churn(incumbent, assignment, fleet.size),
        rewarm_rate=float(changes.rate[changes.target >= 0].sum()),
        keys_moved=int(np.unique(changes.key).size),
        changes=changes,
        admission=made.admission,
        rebalance=made.rebalance,
        loss=replace(loss, changed=changed),
        verdict=verdict,
        regime=regime,
    )
    return Plan(
        assignment.admitted,
        assignment.offsets,
        assignment.members,
        assignment.standby,
        load,
        report,
    )


def _positions(starts: Ints, count: Ints, admitted: Ints) -> Ints:
    """Return the positions of the pairs of ``admitted``, key after key."""
    number = count[admitted]
    offsets = np.cumsum(number) - number
    positions: Ints = np.arange(int(number.sum())) + np.repeat(starts[admitted] - offsets, number)
    return positions
