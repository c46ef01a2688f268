"""What became of the premise of the plan in force: the rates that were measured since it was made, put on it.

A plan gives every key destinations that carry the rate it had. What rates do afterwards the plan cannot follow before
the next one; a router that looks at the load of every request can. So a plan that the rates outran serves worse than
such a router, whatever it gains over flat routing. Nothing here looks ahead: rates of the past are laid on a plan that
is older than they are.
"""

import enum
from dataclasses import dataclass

import numpy as np

from cacheroute.planning.pairs import Pairs, loads
from cacheroute.planning.types import Assignment, Demand, Fleet, Route

HOT = 1.2
"""Load of the hottest destination over the mean above which it is called hot, after chance is taken off.

Measured on made-up traffic (docs/results.md): where rates are steady, and while destinations are lost, at most 1.11; with
a whale, drift of sigma 0.3 an interval, or a flash crowd 1.2 to 2.7 in at least one interval."""
COLD = 0.1
"""Share of the request rate without destinations in the plan above which the cold traffic is told."""
_DEVIATIONS = 3.0
"""Of chance, which are taken off a load: of 30 destinations one exceeds them by chance in 4 % of all intervals."""


class Caution(enum.StrEnum):
    """Why routers that look at every request may serve this traffic better than a plan."""

    HOT_DESTINATION = "HotDestination"
    """One destination gets far more than the mean: rates moved faster than plans are made, or few keys are large."""
    COLD_TRAFFIC = "ColdTraffic"
    """Many requests are of keys without destinations: keys are new, or warm slots too few."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What the rates made of the plan; dimensionless.

    Attributes:
        hottest: highest load / capacity over the fleet's mean, what chance may do taken off; 0 without load.
        utilisation: load of the fleet / its capacity.
        cold: share of the request rate that has no destinations in the plan although nobody fixed that, 0..1; 0 without
            load.
    """

    hottest: float = 0.0
    utilisation: float = 0.0
    cold: float = 0.0

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What follows."""
        found = {Caution.HOT_DESTINATION: self.hottest > HOT, Caution.COLD_TRAFFIC: self.cold > COLD}
        return tuple(caution for caution, holds in found.items() if holds)


def look_back(plan: Assignment, demand: Demand, fleet: Fleet, seconds: float) -> Hindsight:
    """Put rates on a plan that was made before they were measured.

    A destination that is absent now counts as present: its loss is no fault of the plan, and for the time until it is
    replaced there are standbys.

    Args:
        plan: made before.
        demand: measured since.
        fleet: of the plan; presence does not matter.
        seconds: over which the rates were measured, > 0.
    """
    whole = Fleet(fleet.capacity, fleet.warm_slots)
    rates = Demand(demand.rate, demand.unkeyed)
    pairs = Pairs.of_assignment(plan, demand.size, fleet.size)
    present = pairs.where(pairs.destination >= 0)
    load = loads(present, rates, whole)
    total = float(load.sum())
    if total <= 0:
        return Hindsight()
    mean = total / float(fleet.capacity.sum())
    least = load - _DEVIATIONS * np.sqrt(load / seconds)
    hottest = max(float((least / fleet.capacity).max()) / mean, 0.0)
    cold = (present.counts == 0) & (demand.route != Route.COLD)
    without = float(np.sort(demand.rate[cold]).sum()) + demand.unkeyed
    return Hindsight(hottest, mean, without / total)
