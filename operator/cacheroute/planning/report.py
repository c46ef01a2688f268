"""What a planner says of its plan, as data: per phase what it did, per key why. Nothing is derived from it again."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.regime import Regime


class Cause(enum.IntEnum):
    """Why one key got or lost one destination."""

    LOST = 1
    """Its destination is gone for good; another one, its standby where it has one, has its place now."""
    ADMITTED = 2
    """It was cold and has destinations now."""
    DROPPED = 3
    """Its warm slot was given to a key with a higher rate, or is no more."""
    FORCED_COLD = 4
    """The user routes it cold."""
    RAISED = 5
    """Its rate exceeds the capacity of its destinations: one more."""
    LOWERED = 6
    """Fewer destinations are enough, with hysteresis, or there are no slots for more: one less."""
    BALANCED = 7
    """It left a destination that was above the allowed imbalance."""
    SWAPPED = 8
    """It changed places with a key of a destination that was above the allowed imbalance."""
    REPLANNED = 9
    """The policy plans from scratch."""
    FIXED = 10
    """The user admits it, or fixes how many destinations it has."""


class Stop(enum.StrEnum):
    """Why the rebalancing ended."""

    BALANCED = "Balanced"
    """No destination is above the allowed imbalance."""
    BUDGET = "BudgetSpent"
    """The next move would exceed what is left of the rewarm budget."""
    TOO_LARGE = "KeysExceedBudget"
    """Every key that would have to move has a higher rate than the whole rewarm budget."""
    NO_MOVE = "NoMoveHelps"
    """No move and no swap lowers the load of a destination above it."""
    NOT_TRIED = "NotTried"
    """The policy does not rebalance, or only repairs were wanted."""


class Verdict(enum.StrEnum):
    """What became of the optional changes."""

    INSTALLED = "Installed"
    """Their predicted benefit exceeds their predicted cost."""
    HELD = "Held"
    """Their predicted cost exceeds their predicted benefit; only forced changes were made."""
    NOTHING = "NothingOptional"
    """There were none."""


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """One row for each (key, destination) that came or went; a move has both ends.

    Attributes:
        key: int64[N].
        cause: int8[N], Cause.
        source: int64[N], the destination that the key left; UNKNOWN (-1) where it left none that is still there.
        target: int64[N], the destination that the key got; UNKNOWN where it got none.
        rate: float64[N], requests/s that land on ``target``, or left ``source`` where there is no target.
    """

    key: NDArray[np.int64]
    cause: NDArray[np.int8]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    rate: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Cause, int, int, float]]) -> "Changes":
        """Return the rows (key, cause, source, target, rate) as columns."""
        columns = tuple(zip(*rows, strict=True)) or ((), (), (), (), ())
        return cls(
            np.array(columns[0], dtype=np.int64),
            np.array(columns[1], dtype=np.int8),
            np.array(columns[2], dtype=np.int64),
            np.array(columns[3], dtype=np.int64),
            np.array(columns[4], dtype=np.float64),
        )

    @classmethod
    def joined(cls, parts: Iterable["Changes"]) -> "Changes":
        """Return all rows, in the order of the parts."""
        known = [*parts, NO_CHANGES]
        return cls(*(np.concatenate([getattr(one, name) for one in known]) for name in cls.__slots__))

    def count(self, *causes: Cause) -> int:
        """Return how many keys have a row with one of ``causes``."""
        return int(np.unique(self.key[np.isin(self.cause, causes)]).size)

    def moved_rate(self, *causes: Cause) -> float:
        """Return the rate of the rows with one of ``causes`` that have a target, requests/s."""
        return float(self.rate[np.isin(self.cause, causes) & (self.target >= 0)].sum())


NO_CHANGES = Changes(
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int8),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.float64),
)


@dataclass(frozen=True, slots=True)
class AdmissionReport:
    """What the admission did.

    Attributes:
        threshold: rate of the last key that would be admitted from scratch, requests/s; 0 where every key fits.
        withheld: keys that would be admitted from scratch and are not, because no key in force is so much weaker.
        bar: rate that a newcomer needs to be admitted now, requests/s; 0 where any will do.
    """

    threshold: float = 0.0
    withheld: int = 0
    bar: float = 0.0


@dataclass(frozen=True, slots=True)
class RebalanceReport:
    """What the rebalancing did.

    Attributes:
        before: imbalance that it found.
        after: imbalance that it left.
        moves: keys moved alone.
        swaps: pairs of keys that changed places.
        moved_rate: request rate that lands on another destination by it, requests/s.
        budget: what it might have moved, requests/s.
        stop: why it ended.
        limit: imbalance that it was to get below.
    """

    before: float = 0.0
    after: float = 0.0
    moves: int = 0
    swaps: int = 0
    moved_rate: float = 0.0
    budget: float = 0.0
    stop: Stop = Stop.NOT_TRIED
    limit: float = 0.0


@dataclass(frozen=True, slots=True)
class LossReport:
    """What happens when one destination is lost.

    Attributes:
        imbalance: the worst over all single losses, of the destinations that are left.
        destination: whose loss that is; -1 where there is only one.
        keys: keys without any standby.
        changed: standbys that are not those of the plan in force.
    """

    imbalance: float = 0.0
    destination: int = -1
    keys: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True)
class VerdictReport:
    """Whether the optional changes pay within one control interval, in requests.

    Attributes:
        verdict: what became of them.
        benefit: requests that are spared a cold prefill or an overloaded destination.
        cost: first requests of moved keys, which find a cold cache.
        keys: whose destinations the optional changes concern.
    """

    verdict: Verdict = Verdict.NOTHING
    benefit: float = 0.0
    cost: float = 0.0
    keys: int = 0


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
        imbalance: max_r(L[r]/cap[r]) / (Σ L / Σ cap), >= 1; 0 where there is no load.
        overloaded: int64[], keys with λ_b greater than the capacity of all destinations, ascending.
        churn: 1 - Jaccard over (key, destination) pairs against the plan in force (the paper's definition).
        rewarm_rate: rate that lands on destinations newly given to their key, requests/s.
        keys_moved: keys whose destinations differ from the plan in force, admitted and dropped ones included.
        changes: one row for each change.
        admission: what the admission did.
        rebalance: what the rebalancing did.
        loss: what happens when one destination is lost.
        verdict: whether the optional changes were made.
        regime: whether affinity is worth it here.
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
    churn: float = 0.0
    rewarm_rate: float = 0.0
    keys_moved: int = 0
    changes: Changes = NO_CHANGES
    admission: AdmissionReport = AdmissionReport()
    rebalance: RebalanceReport = RebalanceReport()
    loss: LossReport = LossReport()
    verdict: VerdictReport = VerdictReport()
    regime: Regime = field(default_factory=Regime)

    @property
    def coverage(self) -> float:
        """Admitted rate / total rate, 0..1; 0 where there is no traffic."""
        return self.admitted_rate / self.total_rate if self.total_rate > 0 else 0.0
