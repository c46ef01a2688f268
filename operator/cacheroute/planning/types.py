"""What goes into the planner and what comes out; arrays are never mutated after construction.

Symbols follow Algorithm 1 of CacheRoute (arXiv 2608.19677): B keys, R destinations, λ_b rates, q_cap capacity,
W warm slots of one destination, C = Σ W, k_b counts, T(b) assignments, L[r] loads.
"""

import enum
import math
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.errors import PlanningInputError
from cacheroute.planning.report import PlanReport

UNKNOWN = -1
"""No destination, or no zone."""


class Route(enum.IntEnum):
    """What the user fixed for a key."""

    AUTO = 0
    """Nothing: the planner decides."""
    COLD = 1
    """It is never admitted."""
    ADMIT = 2
    """It is admitted before all others, whatever its rate."""


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """The destinations, in the order of their names: index order breaks ties.

    Attributes:
        capacity: float64[R], requests/s of one destination at its latency knee (q_cap), > 0.
        warm_slots: int64[R], prefixes that a destination keeps warm (W), >= 0.
        present: bool[R], takes requests now. One that does not keeps its keys, which their standbys serve, and is
            given no more; default all.
        joined: bool[R], new since the plan in force; default none.
        node: int64[R], destinations with equal numbers fail together; default all different.
        zone: int64[R], likewise one level up; negative where unknown, the default.
        tokens: float64[R], KV-cache tokens of one destination, > 0; for admission by bytes only, default infinite.

    Raises:
        PlanningInputError: there is no destination, or a value is out of range.
    """

    capacity: NDArray[np.float64]
    warm_slots: NDArray[np.int64]
    present: NDArray[np.bool_] = field(default=cast("NDArray[np.bool_]", None))
    joined: NDArray[np.bool_] = field(default=cast("NDArray[np.bool_]", None))
    node: NDArray[np.int64] = field(default=cast("NDArray[np.int64]", None))
    zone: NDArray[np.int64] = field(default=cast("NDArray[np.int64]", None))
    tokens: NDArray[np.float64] = field(default=cast("NDArray[np.float64]", None))

    def __post_init__(self) -> None:
        size = self.capacity.size
        _default(self, "present", np.ones(size, dtype=np.bool_))
        _default(self, "joined", np.zeros(size, dtype=np.bool_))
        _default(self, "node", np.arange(size))
        _default(self, "zone", np.full(size, UNKNOWN))
        _default(self, "tokens", np.full(size, np.inf))
        _require_row(self.capacity, "fleet.capacity")
        if self.capacity.size == 0 or self.capacity.shape != self.warm_slots.shape:
            raise PlanningInputError(
                f"fleet: {self.capacity.size} capacities and {self.warm_slots.size} slot counts; "
                "there must be at least one destination and one of each for it"
            )
        _require(np.isfinite(self.capacity) & (self.capacity > 0), "fleet.capacity", "finite and > 0")
        _require(self.warm_slots >= 0, "fleet.warm_slots", ">= 0")
        for name in ("present", "joined", "node", "zone", "tokens"):
            _require_shape(getattr(self, name), self.capacity, f"fleet.{name}")
        _require(self.tokens > 0, "fleet.tokens", "> 0")

    @property
    def size(self) -> int:
        """Number of destinations, R."""
        return int(self.capacity.size)

    @property
    def slots(self) -> int:
        """Warm slots of all destinations, C; a Python integer, which cannot overflow."""
        return sum(self.warm_slots.tolist())

    @property
    def relative(self) -> NDArray[np.float64]:
        """float64[R], capacities as shares of the largest, so that load / relative does not overflow; 1 if equal."""
        relative: NDArray[np.float64] = self.capacity / self.capacity.max()
        return relative

    @property
    def scale(self) -> NDArray[np.float64]:
        """float64[R], what makes loads comparable: load * scale orders as load / capacity does; all 1 if equal."""
        scale: NDArray[np.float64] = self.capacity.min() / self.capacity
        return scale


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """The keys, in bytewise order of their names: index order breaks ties.

    Attributes:
        rate: float64[B], requests/s of each key (λ_b), finite, >= 0: decides admission and counts.
        unkeyed: requests/s that carry no key; they are part of the cold load.
        cost: float64[B], what is balanced, for instance tokens/s; finite, >= 0; default ``rate``.
        unkeyed_cost: cost/s of requests without a key; default ``unkeyed``.
        prefix: float64[B], tokens of each key's prefix, > 0; for admission by bytes only, default 1.
        route: int8[B], Route of each key: what the user fixed; default AUTO.
        count: int64[B], count that the user fixed, 0 where not; default 0.

    Raises:
        PlanningInputError: a value, or the sum of all, is not finite, or out of range.
    """

    rate: NDArray[np.float64]
    unkeyed: float = 0.0
    cost: NDArray[np.float64] = field(default=cast("NDArray[np.float64]", None))
    unkeyed_cost: float = -1.0
    prefix: NDArray[np.float64] = field(default=cast("NDArray[np.float64]", None))
    route: NDArray[np.int8] = field(default=cast("NDArray[np.int8]", None))
    count: NDArray[np.int64] = field(default=cast("NDArray[np.int64]", None))

    def __post_init__(self) -> None:
        _default(self, "cost", self.rate)
        _default(self, "prefix", np.ones(self.rate.size))
        _default(self, "route", np.zeros(self.rate.size, dtype=np.int8))
        _default(self, "count", np.zeros(self.rate.size, dtype=np.int64))
        if self.unkeyed_cost < 0:
            object.__setattr__(self, "unkeyed_cost", self.unkeyed)
        _require_row(self.rate, "demand.rate")
        _require_sum(self.rate, self.unkeyed, "rate")
        _require_sum(self.cost, self.unkeyed_cost, "cost")
        for name in ("cost", "prefix", "route", "count"):
            _require_shape(getattr(self, name), self.rate, f"demand.{name}")
        _require(np.isfinite(self.prefix) & (self.prefix > 0), "demand.prefix", "finite and > 0")
        _require(self.count >= 0, "demand.count", ">= 0")

    @property
    def size(self) -> int:
        """Number of keys, B."""
        return int(self.rate.size)


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """T(b) of every admitted key.

    Attributes:
        admitted: int64[A], keys, each once.
        offsets: int64[A+1], T(admitted[i]) is members[offsets[i]:offsets[i+1]].
        members: int64[Σk], destinations, distinct within a key; UNKNOWN where the destination is gone for good.
        standby: int64[A], the destination that takes over; UNKNOWN where there is none.
    """

    admitted: NDArray[np.int64]
    offsets: NDArray[np.int64]
    members: NDArray[np.int64]
    standby: NDArray[np.int64]


NOTHING = Assignment(
    np.empty(0, dtype=np.int64),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
)
"""The assignment before the first plan."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Assignment):
    """An assignment with what is expected of it.

    ``admitted`` is by decreasing rate, ties by index; ``members`` ascend within a key.

    Attributes:
        load: float64[R], expected cost/s of each destination (L): requests/s unless the demand has its own cost.
        report: what the planner says of it.
    """

    load: NDArray[np.float64]
    report: PlanReport


class Policy(Protocol):
    """A planner; ``previous`` is the assignment in force, which a policy may start from."""

    def __call__(self, demand: Demand, fleet: Fleet, previous: Assignment | None) -> Plan:
        """Return a plan for this demand on this fleet."""


def _default(owner: object, name: str, value: NDArray[np.generic]) -> None:
    if getattr(owner, name) is None:
        object.__setattr__(owner, name, value)


def _require_sum(values: NDArray[np.float64], rest: float, name: str) -> None:
    _require(np.isfinite(values) & (values >= 0), f"demand.{name}", "finite and >= 0")
    if not (math.isfinite(rest) and rest >= 0):
        unkeyed = "unkeyed" if name == "rate" else "unkeyed_cost"
        raise PlanningInputError(f"demand.{unkeyed} must be finite and >= 0; it is {rest}")
    with np.errstate(over="ignore"):
        total = float(values.sum()) + rest
    if not math.isfinite(total):
        raise PlanningInputError(f"demand: the {name}s add up to more than a float64 holds")


def _require_shape(array: NDArray[np.generic], other: NDArray[np.generic], name: str) -> None:
    if array.shape != other.shape:
        raise PlanningInputError(f"{name} has shape {array.shape}; it must be {other.shape}")


def _require_row(array: NDArray[np.generic], name: str) -> None:
    if array.ndim != 1:
        raise PlanningInputError(f"{name} must have one dimension; it has {array.ndim}")


def _require(valid: NDArray[np.bool_], name: str, rule: str) -> None:
    if not valid.all():
        first = int(np.argmin(valid))
        raise PlanningInputError(
            f"{name}[{first}] must be {rule}; {int((~valid).sum())} of {valid.size} are not"
        )
