"""The plan in force as an artefact: seats, the keys that sit there, and a version that is its content.

A *seat* is a place in the plan that one destination fills. Keys are planned to seats, and a seat outlives
its destination: while it is vacant its keys go to their standby, and a replacement that takes the seat
inherits the whole key set. So the loss and the replacement of a destination change which destination fills a
seat (endpoints), never which seat a key has (routes).
"""

import enum
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from cacheroute.domain.fleet import Pool
from cacheroute.domain.spec import Override, PolicyName
from cacheroute.planning.hindsight import Caution
from cacheroute.planning.regime import Worth
from cacheroute.planning.report import Verdict

VERSION_LENGTH = 12
"""Hexadecimal digits of a version: 48 bits, enough to tell the plans of one RoutingPlan apart."""
MAX_CHANGES = 1000


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in the plan that a destination of one pool fills.

    Attributes:
        index: identity, never reused within a plan's history.
        pool: which pool's destinations may fill it.
        destination: who fills it; None while vacant.
        last: who filled it last, while vacant.
        vacated: since when it is vacant, seconds since the epoch; None while filled.
        filled: since when it is filled by a replacement, seconds since the epoch; None otherwise.
        inherited: whose keys the replacement took over.
    """

    index: int
    pool: str
    destination: str | None
    last: str | None = None
    vacated: float | None = None
    filled: float | None = field(default=None, compare=False)
    inherited: str | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """Who fills it, or who did."""
        return self.destination or self.last or ""


class MoveCause(enum.StrEnum):
    """Why a key got or lost a destination."""

    LOST = "DestinationLost"
    ADMITTED = "Admitted"
    DROPPED = "Dropped"
    FORCED_COLD = "RoutedCold"
    RAISED = "CountRaised"
    LOWERED = "CountLowered"
    BALANCED = "Rebalanced"
    SWAPPED = "Swapped"
    REPLANNED = "Replanned"
    FIXED = "Overridden"


@dataclass(frozen=True, slots=True)
class LastMove:
    """When and why a key got its destinations as they are.

    Attributes:
        time: seconds since the epoch.
        cause: why.
        source: name of the destination that it left; None where it left none.
    """

    time: float
    cause: MoveCause
    source: str | None


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One (key, destination) that came or went when the plan was installed; a move has both ends.

    Attributes:
        key: canonical.
        cause: why.
        source: name of the destination that the key left; None where it left none.
        target: name of the destination that it got; None where it got none.
        rate: requests/s that land on ``target``, or left ``source`` where there is no target.
    """

    key: str
    cause: MoveCause
    source: str | None
    target: str | None
    rate: float


@dataclass(frozen=True, slots=True)
class Phase:
    """What one phase of the planner did, in one line."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Group:
    """Keys that share one choice.

    Attributes:
        seats: indices of the seats T(b), ascending, not empty.
        standbys: indices of the seats that take over, in order; disjoint from ``seats``.
        keys: canonical keys, bytewise order, not empty.
        rates: requests/s of each key when it was planned; evidence, not part of the version.
        moves: when and why each key got there; evidence, empty where unknown.
    """

    seats: tuple[int, ...]
    standbys: tuple[int, ...]
    keys: tuple[str, ...]
    rates: tuple[float, ...] = field(compare=False)
    moves: tuple[LastMove, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """What the planner said of the plan; ratios are dimensionless, rates requests/s.

    Attributes:
        keys_known: keys with a measured rate.
        keys_admitted: keys with seats.
        slots_used: sum of the counts k_b.
        slots_total: warm slots of the fleet, C.
        coverage: admitted rate / total rate, 0..1.
        imbalance: max_r(L[r]/cap_r) / mean, >= 1, or 0 without load.
        overloaded: keys whose rate exceeds what the whole fleet can carry, bytewise order, at most 20.
        single_loss: worst imbalance after the loss of one destination; 0 where that is not known.
        single_loss_of: name of the destination whose loss that is; empty where not known.
        churn: 1 - Jaccard of (key, destination) pairs against the plan before, 0..1.
        keys_moved: keys that got or lost a destination against the plan before.
        rewarm: share of the request rate on destinations newly given to their key, 0..1.
        threshold: rate of the last key that would be admitted from scratch, requests/s; 0 where every key fits.
        bar: rate that a newcomer needs to be admitted, requests/s; 0 where any will do or that is not known.
        flat_hit: predicted share of requests that find their prefix with flat routing, 0..1.
        planned_hit: the same by plan, 0..1.
        multiplier: predicted requests/s at the same latency against flat routing.
        worth: whether affinity is worth it for this traffic on this fleet.
        cautions: why routers that look at every request may serve this traffic better than a plan.
        verdict: what became of the optional changes.
        phases: what each phase of the planner did.
    """

    keys_known: int
    keys_admitted: int
    slots_used: int
    slots_total: int
    coverage: float
    imbalance: float
    overloaded: tuple[str, ...] = ()
    single_loss: float = 0.0
    single_loss_of: str = ""
    churn: float = 0.0
    keys_moved: int = 0
    rewarm: float = 0.0
    threshold: float = 0.0
    bar: float = 0.0
    flat_hit: float = 0.0
    planned_hit: float = 0.0
    multiplier: float = 0.0
    worth: Worth = Worth.UNKNOWN
    cautions: tuple[Caution, ...] = ()
    verdict: Verdict = Verdict.NOTHING
    phases: tuple[Phase, ...] = ()

    def phase(self, name: str) -> str:
        """Return what a phase did; empty where that is not recorded."""
        return next((one.message for one in self.phases if one.name == name), "")


@dataclass(frozen=True, slots=True)
class Basis:
    """What a plan was made for besides the rates.

    Attributes:
        pools: capacities of the destinations.
        overrides: what the user had fixed.
    """

    pools: tuple[Pool, ...] = ()
    overrides: tuple[Override, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that can be stored, compared, explained and routed.

    Attributes:
        version: content hash of the groups, by ``groups_version``: a repair keeps it.
        seats: ascending by index.
        groups: ascending by (seats, standbys); a key is in one group at most.
        next_seat: index of the next new seat.
        policy: who made it.
        installed: when, seconds since the epoch.
        summary: what the planner said of it.
        changes: what its installation changed, those with the highest rates, at most MAX_CHANGES.
        basis: what it was made for besides the rates.
    """

    version: str
    seats: tuple[Seat, ...]
    groups: tuple[Group, ...]
    next_seat: int
    policy: PolicyName = field(compare=False)
    installed: float = field(compare=False)
    summary: PlanSummary = field(compare=False)
    changes: tuple[KeyChange, ...] = field(default=(), compare=False)
    basis: Basis = field(default=Basis(), compare=False)

    @property
    def revision(self) -> str:
        """Content hash of the assignment and of who fills the seats. A repair changes it."""
        seats = [[seat.index, seat.pool, seat.destination, seat.last] for seat in self.seats]
        return content_hash([self.version, seats])

    def seat(self, index: int) -> Seat:
        """Return the seat with that index; KeyError where the plan has none."""
        for seat in self.seats:
            if seat.index == index:
                return seat
        raise KeyError(index)

    def by_destination(self) -> dict[str, Seat]:
        """Return the filled seats by the name of who fills them."""
        return {seat.destination: seat for seat in self.seats if seat.destination is not None}

    def assignments(self) -> Iterator[tuple[str, Group]]:
        """Yield every admitted key with its group."""
        for group in self.groups:
            for key in group.keys:
                yield key, group


def groups_version(groups: tuple[Group, ...]) -> str:
    """Return the version of a plan with these groups: which keys have which seats and standbys."""
    return content_hash([[group.seats, group.standbys, group.keys] for group in groups])


def content_hash(content: object) -> str:
    """Return the first VERSION_LENGTH hexadecimal digits of SHA-256 over the canonical JSON of ``content``."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:VERSION_LENGTH]
