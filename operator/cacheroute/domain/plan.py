"""The plan in force as an artefact: seats, the keys that sit there, and a version that is its content.

A *seat* is a place in the plan that one destination fills. Keys are planned to seats, and a seat outlives
its destination: while it is vacant its keys go to their standby, and a replacement that takes the seat
inherits the whole key set. So the loss and the replacement of a destination change which destination fills a
seat (endpoints), never which seat a key has (routes).
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from cacheroute.domain.spec import PolicyName

VERSION_LENGTH = 12
"""Hexadecimal digits of a version: 48 bits, enough to tell the plans of one RoutingPlan apart."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in the plan that a destination of one pool fills.

    Attributes:
        index: identity, never reused within a plan's history.
        pool: which pool's destinations may fill it.
        destination: who fills it; None while vacant.
        last: who filled it last, while vacant.
        vacated: since when it is vacant, seconds since the epoch; None while filled.
    """

    index: int
    pool: str
    destination: str | None
    last: str | None = None
    vacated: float | None = None

    @property
    def name(self) -> str:
        """Who fills it, or who did."""
        return self.destination or self.last or ""


@dataclass(frozen=True, slots=True)
class Group:
    """Keys that share one choice.

    Attributes:
        seats: indices of the seats T(b), ascending, not empty.
        standbys: indices of the seats that take over, in order; disjoint from ``seats``.
        keys: canonical keys, bytewise order, not empty.
        rates: requests/s of each key when it was planned; evidence, not part of the version.
    """

    seats: tuple[int, ...]
    standbys: tuple[int, ...]
    keys: tuple[str, ...]
    rates: tuple[float, ...] = field(compare=False)


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
    """

    keys_known: int
    keys_admitted: int
    slots_used: int
    slots_total: int
    coverage: float
    imbalance: float
    overloaded: tuple[str, ...] = ()


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
    """

    version: str
    seats: tuple[Seat, ...]
    groups: tuple[Group, ...]
    next_seat: int
    policy: PolicyName = field(compare=False)
    installed: float = field(compare=False)
    summary: PlanSummary = field(compare=False)

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
