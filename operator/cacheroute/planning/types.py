"""What goes into the planner and what comes out; arrays are never mutated after construction.

Symbols follow Algorithm 1 of CacheRoute (arXiv 2608.19677): B keys, R destinations, λ_b rates, q_cap capacity,
W warm slots of one destination, C = Σ W, k_b counts, T(b) assignments, L[r] loads.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.errors import PlanningInputError


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """The destinations, in the order of their names: index order breaks ties.

    Attributes:
        capacity: float64[R], requests/s of one destination at its latency knee (q_cap), > 0.
        warm_slots: int64[R], prefixes that a destination keeps warm (W), >= 0.

    Raises:
        PlanningInputError: there is no destination, or a value is out of range.
    """

    capacity: NDArray[np.float64]
    warm_slots: NDArray[np.int64]

    def __post_init__(self) -> None:
        _require_row(self.capacity, "fleet.capacity")
        if self.capacity.size == 0 or self.capacity.shape != self.warm_slots.shape:
            raise PlanningInputError(
                f"fleet: {self.capacity.size} capacities and {self.warm_slots.size} slot counts; "
                "there must be at least one destination and one of each for it"
            )
        _require(np.isfinite(self.capacity) & (self.capacity > 0), "fleet.capacity", "finite and > 0")
        _require(self.warm_slots >= 0, "fleet.warm_slots", ">= 0")

    @property
    def size(self) -> int:
        """Number of destinations, R."""
        return int(self.capacity.size)

    @property
    def slots(self) -> int:
        """Warm slots of all destinations, C; a Python integer, which cannot overflow."""
        return sum(self.warm_slots.tolist())

    @property
    def scale(self) -> NDArray[np.float64]:
        """float64[R], what makes loads comparable: load * scale orders as load / capacity does; all 1 if equal."""
        scale: NDArray[np.float64] = self.capacity.min() / self.capacity
        return scale


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """The keys, in bytewise order of their names: index order breaks ties.

    Attributes:
        rate: float64[B], requests/s of each key (λ_b), finite, >= 0.
        unkeyed: requests/s that carry no key; they are part of the cold load.

    Raises:
        PlanningInputError: a rate, or the sum of all, is not finite, or a rate is negative.
    """

    rate: NDArray[np.float64]
    unkeyed: float = 0.0

    def __post_init__(self) -> None:
        _require_row(self.rate, "demand.rate")
        _require(np.isfinite(self.rate) & (self.rate >= 0), "demand.rate", "finite and >= 0")
        if not (math.isfinite(self.unkeyed) and self.unkeyed >= 0):
            raise PlanningInputError(f"demand.unkeyed must be finite and >= 0; it is {self.unkeyed}")
        with np.errstate(over="ignore"):
            total = float(self.rate.sum()) + self.unkeyed
        if not math.isfinite(total):
            raise PlanningInputError("demand: the rates add up to more than a float64 holds")


@dataclass(frozen=True, slots=True, eq=False)
class PlanReport:
    """What the planner says of its plan; rates in requests/s.

    Attributes:
        keys_known: B.
        keys_admitted: number of keys with destinations, A.
        keys_skipped: keys that were refused while slots were left, because their count was more than these.
        slots_used: Σ k_b of admitted keys.
        slots_total: C.
        admitted_rate: Σ λ_b of admitted keys.
        total_rate: Σ λ_b of all keys and the unkeyed rate.
        imbalance: max_r(L[r]/cap[r]) / mean_r(L[r]/cap[r]), >= 1; 0 where there is no load.
        overloaded: int64[], keys with λ_b greater than the capacity of all destinations, ascending.
    """

    keys_known: int
    keys_admitted: int
    keys_skipped: int
    slots_used: int
    slots_total: int
    admitted_rate: float
    total_rate: float
    imbalance: float
    overloaded: NDArray[np.int64]

    @property
    def coverage(self) -> float:
        """Admitted rate / total rate, 0..1; 0 where there is no traffic."""
        return self.admitted_rate / self.total_rate if self.total_rate > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Assignments as arrays.

    Attributes:
        admitted: int64[A], keys in the order of admission: decreasing rate, ties by index.
        offsets: int64[A+1], T(admitted[i]) is members[offsets[i]:offsets[i+1]].
        members: int64[Σk], destinations, ascending within a key.
        standby: int64[A], the destination that takes over; -1 where T(b) is the whole fleet.
        load: float64[R], expected requests/s of each destination (L).
        report: what the planner says of it.
    """

    admitted: NDArray[np.int64]
    offsets: NDArray[np.int64]
    members: NDArray[np.int64]
    standby: NDArray[np.int64]
    load: NDArray[np.float64]
    report: PlanReport


class Policy(Protocol):
    """A planner; ``previous`` is the plan in force, which a policy may start from."""

    def __call__(self, demand: Demand, fleet: Fleet, previous: Plan | None) -> Plan:
        """Return a plan for this demand on this fleet."""


def _require_row(array: NDArray[np.generic], name: str) -> None:
    if array.ndim != 1:
        raise PlanningInputError(f"{name} must have one dimension; it has {array.ndim}")


def _require(valid: NDArray[np.bool_], name: str, rule: str) -> None:
    if not valid.all():
        first = int(np.argmin(valid))
        raise PlanningInputError(
            f"{name}[{first}] must be {rule}; {int((~valid).sum())} of {valid.size} are not"
        )
