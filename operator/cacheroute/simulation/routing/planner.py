"""Plans for simulated fleets, by the planner that the operator runs, from the rates of the past only."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.paper import plan_paper
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import Assignment, Demand, Fleet
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.routing.view import NOWHERE, Memory


class Planner(StrEnum):
    """Who makes the plan."""

    STABLE = "stable"
    """Ours, from the plan in force."""
    PAPER = "paper"
    """Algorithm 1 of CacheRoute (arXiv 2608.19677) from scratch: affinity, replication and placement by load."""
    AFFINITY = "affinity"
    """Every key on one destination, where a hash ring puts it."""
    REPLICATION = "replication"
    """As many destinations as a key's rate needs, where a hash ring puts them."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How plans are made in a simulation.

    Attributes:
        planner: who makes them.
        capacity: requests/s of one destination at its latency knee, > 0.
        warm: prefixes that one destination keeps warm, >= 0.
        interval_seconds: between two plans, > 0; in the first interval there is none.
        window_seconds: over which past the rates are measured, >= interval_seconds.
    """

    planner: Planner
    capacity: float
    warm: int
    interval_seconds: float = 60.0
    window_seconds: float = 300.0

    def __post_init__(self) -> None:
        if not (self.capacity > 0 and self.warm >= 0):
            raise SimulationError(
                f"plan: capacity {self.capacity} and {self.warm} warm prefixes; > 0 and >= 0 are needed"
            )
        if not 0 < self.interval_seconds <= self.window_seconds:
            raise SimulationError(
                f"plan: interval {self.interval_seconds} s and window {self.window_seconds} s; "
                "the window is at least the interval, which is > 0"
            )


class Plans:
    """The plan in force of one simulated fleet."""

    def __init__(self, settings: PlanSettings, destinations: int) -> None:
        self._settings = settings
        self._fleet = Fleet(
            np.full(destinations, settings.capacity), np.full(destinations, settings.warm, dtype=np.int64)
        )
        self._assignment: Assignment | None = None

    @property
    def assignment(self) -> Assignment | None:
        """The plan in force, None before the first."""
        return self._assignment

    def replan(self, memory: Memory, rates: NDArray[np.float64], up: NDArray[np.bool_]) -> Memory:
        """Return the policy's memory with the next plan.

        Args:
            memory: what the policy knows.
            rates: float64[K], requests/s of each key.
            up: bool[R], destinations that take requests.
        """
        self._assignment = self._next(memory, Demand(rates), up)
        return with_assignment(memory, self._assignment, rates.size)

    def _next(self, memory: Memory, demand: Demand, up: NDArray[np.bool_]) -> Assignment:
        fleet = Fleet(self._fleet.capacity, self._fleet.warm_slots, present=up)
        match self._settings.planner:
            case Planner.STABLE:
                return plan_stable(demand, fleet, self._assignment)
            case Planner.PAPER:
                return plan_paper(demand, fleet, None)
        plan = plan_paper(demand, fleet, None)
        return _hashed(memory, plan, replicate=self._settings.planner is Planner.REPLICATION)


def with_assignment(memory: Memory, assignment: Assignment, keys: int) -> Memory:
    """Return the memory with the plan laid out by key."""
    counts = np.zeros(keys + 1, dtype=np.int64)
    counts[assignment.admitted + 1] = np.diff(assignment.offsets)
    owners = np.repeat(assignment.admitted, np.diff(assignment.offsets))
    standby = np.full(keys, NOWHERE, dtype=np.int64)
    standby[assignment.admitted] = assignment.standby
    members = assignment.members[np.argsort(owners, kind="stable")]
    return memory._replace(offsets=np.cumsum(counts), members=members, standby=standby)


def _hashed(memory: Memory, plan: Assignment, *, replicate: bool) -> Assignment:
    """Return the same keys, each on the first destinations of its way around the ring."""
    counts = np.diff(plan.offsets) if replicate else np.ones(plan.admitted.size, dtype=np.int64)
    members = [
        _walk(memory, key, count) for key, count in zip(plan.admitted.tolist(), counts.tolist(), strict=True)
    ]
    return Assignment(
        admitted=plan.admitted,
        offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        members=np.array([one for some in members for one in some], dtype=np.int64),
        standby=np.full(plan.admitted.size, NOWHERE, dtype=np.int64),
    )


def _walk(memory: Memory, key: int, count: int) -> list[int]:
    owner, at = memory.first.owner, int(memory.first.start[key])
    found: dict[int, None] = {}
    while len(found) < count:
        found[int(owner[at % owner.size])] = None
        at += 1
    return list(found)
