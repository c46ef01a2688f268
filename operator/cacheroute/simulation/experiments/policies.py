"""Policies under the names of the paper's tables."""

from dataclasses import dataclass, replace

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.simulate import FleetSettings
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy


@dataclass(frozen=True, slots=True)
class Named:
    """A policy as tables show it.

    Attributes:
        title: for people.
        policy: who routes.
        planner: who plans, None where nobody does.
    """

    title: str
    policy: Policy
    planner: Planner | None = None


POLICIES = {
    "flat": Named("Flat-LB", Policy.FLAT),
    "sticky": Named("Sticky", Policy.STICKY),
    "chwbl": Named("CHWBL", Policy.CHWBL),
    "dualmap": Named("DualMap", Policy.DUALMAP),
    "preble": Named("Preble", Policy.PREBLE),
    "cacheroute": Named("CacheRoute (`Paper`)", Policy.PLANNED, Planner.PAPER),
    "stable": Named("CacheRoute (`Stable`)", Policy.PLANNED, Planner.STABLE),
    "affinity": Named("+ affinity", Policy.PLANNED, Planner.AFFINITY),
    "affinity+replication": Named("+ replication", Policy.PLANNED, Planner.REPLICATION),
    "affinity+replication+lpt": Named("+ LPT (`Paper`)", Policy.PLANNED, Planner.PAPER),
    "lmetric": Named("LMetric", Policy.LMETRIC),
    "llmd": Named("llm-d", Policy.LLMD),
    "sglang": Named("SGLang", Policy.SGLANG),
}
"""By the names of the paper's tables, and ours."""


def with_policy(fleet: FleetSettings, name: str, plan: PlanSettings) -> FleetSettings:
    """Return the fleet routed by that policy.

    Args:
        fleet: engines; who routes there is replaced.
        name: of the policy.
        plan: how plans are made, where the policy is a planned one; its planner is replaced.

    Raises:
        SimulationError: there is no such policy.
    """
    found = named(name)
    planned = None if found.planner is None else replace(plan, planner=found.planner)
    return replace(fleet, policy=found.policy, plan=planned)


def named(name: str) -> Named:
    """Return the policy with that name.

    Raises:
        SimulationError: there is none.
    """
    if name not in POLICIES:
        raise SimulationError(f"no policy is called {name!r}; there are {', '.join(POLICIES)}")
    return POLICIES[name]
