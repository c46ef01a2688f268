"""Phase 7 of ``Stable``: do the optional changes pay within one control interval?"""

import numpy as np

from cacheroute.planning.draft import Draft
from cacheroute.planning.options import StableOptions
from cacheroute.planning.pairs import covered, shares
from cacheroute.planning.regime import Regime
from cacheroute.planning.report import Verdict, VerdictReport


def weigh(draft: Draft, kept: Draft, regime: Regime, options: StableOptions) -> VerdictReport:
    """Compare what the optional changes spare and cost within one interval, in requests.

    A key that moves pays with the first request at its new place, as far as that one would have found its prefix at
    the old one.
    """
    benefit = options.interval * (_served_well(draft, regime, options) - _served_well(kept, regime, options))
    size, demand = draft.fleet.size, draft.demand
    added = ~kept.pairs.has(draft.pairs.key, draft.pairs.destination, size)
    key = draft.pairs.key[added]
    arriving = options.interval * shares(draft.pairs, demand.rate, draft.fleet)[added]
    former = kept.pairs.counts()[key]
    found = regime.hit(demand.rate[key], np.where(former > 0, former, size), planned=former > 0)
    cost = float((np.minimum(arriving, 1.0) * found).sum())
    moving = np.concatenate(
        (key, kept.pairs.key[~draft.pairs.has(kept.pairs.key, kept.pairs.destination, size)])
    )
    verdict = Verdict.INSTALLED if benefit > cost else Verdict.HELD
    return VerdictReport(verdict, benefit, cost, int(np.unique(moving).size))


def _served_well(draft: Draft, regime: Regime, options: StableOptions) -> float:
    """Return requests/s that gain a hit by the plan, less those beyond the allowed load or a key's capacity."""
    demand, fleet, pairs = draft.demand, draft.fleet, draft.pairs
    count = pairs.counts()
    admitted = np.flatnonzero(count)
    rate = demand.rate[admitted]
    hits = float((rate * regime.gain(rate, count[admitted], fleet.size)).sum())
    uncovered = np.maximum(rate - covered(pairs, fleet)[admitted], 0.0).sum()
    capacity = fleet.capacity * fleet.present
    whole, cost = float(capacity.sum()), float(draft.load.sum())
    if whole <= 0 or cost <= 0:
        return hits - float(uncovered)
    allowed = (1.0 + options.imbalance) * (cost / whole) * capacity
    excess = float(np.maximum(draft.load - allowed, 0.0).sum())
    requests = (float(demand.rate.sum()) + demand.unkeyed) / cost
    return hits - float(uncovered) - excess * requests
