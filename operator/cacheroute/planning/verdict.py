"""Phase 7 of ``Stable``: do the optional changes pay within one control interval?"""

import numpy as np

from cacheroute.planning.draft import Draft
from cacheroute.planning.options import StableOptions
from cacheroute.planning.pairs import covered, shares
from cacheroute.planning.regime import Regime
from cacheroute.planning.report import Verdict, VerdictReport


def weigh(draft: Draft, kept: Draft, regime: Regime, options: StableOptions) -> VerdictReport:
    """Compare what the optional changes spare and cost within one interval, in requests.

    Spared are: requests that find their prefix by the plan and would not with flat routing; those beyond the
    capacity of their key's destinations; those that rebalancing takes from destinations above the allowed load. A
    key in force that moves pays with the first request at its new place, as far as that one would have found its
    prefix at the old one. A key that was cold pays nothing: it is warm nowhere in particular.
    """
    benefit = _served_well(draft, regime) - _served_well(kept, regime) + draft.relief
    size, demand = draft.fleet.size, draft.demand
    former = kept.pairs.counts
    came = ~kept.pairs.has(draft.pairs.key, draft.pairs.destination, size)
    went = ~draft.pairs.has(kept.pairs.key, kept.pairs.destination, size)
    arrived = came & (former[draft.pairs.key] > 0)
    key = draft.pairs.key[arrived]
    first = np.minimum(options.interval * shares(draft.pairs, demand.rate, draft.fleet)[arrived], 1.0)
    found = regime.hit(demand.rate[key], former[key], planned=np.ones(key.size, dtype=np.bool_))
    cost = float((first * found).sum())
    changed = np.union1d(draft.pairs.key[came], kept.pairs.key[went]).size
    if changed == 0:
        return VerdictReport()
    pays = cost == 0 or options.interval * benefit > cost
    return VerdictReport(
        Verdict.INSTALLED if pays else Verdict.HELD,
        options.interval * benefit,
        cost,
        changed,
    )


def _served_well(draft: Draft, regime: Regime) -> float:
    """Return requests/s that gain a hit by the plan, less those beyond the capacity of their key's destinations."""
    count = draft.pairs.counts
    admitted = np.flatnonzero(count)
    rate = draft.demand.rate[admitted]
    hits = float((rate * regime.gain(rate, count[admitted], draft.fleet.size)).sum())
    beyond = np.maximum(rate - covered(draft.pairs, draft.fleet)[admitted], 0.0)
    return hits - float(beyond.sum())
