"""Where a key goes, why, and what happens when its destinations die: one key of a plan as a value."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from cacheroute.domain.errors import DomainError
from cacheroute.domain.keys import KEY_PUNCTUATION, MAX_KEY_LENGTH, canonical_key
from cacheroute.domain.plan import Group, KeyChange, LastMove, Plan, Seat
from cacheroute.domain.spec import OverrideRoute, PolicyName


class Server(enum.StrEnum):
    """Who serves a key."""

    DESTINATIONS = "Destinations"
    """Its own destinations, one as well as another."""
    STANDBY = "Standby"
    """The destination that takes over when none of its own is there."""
    FLEET = "Fleet"
    """The less loaded of two random destinations."""


@dataclass(frozen=True, slots=True)
class Service:
    """Who serves a key in one situation.

    Attributes:
        by: kind.
        names: of the destinations, sorted; empty with FLEET.
    """

    by: Server
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """One destination of a key.

    Attributes:
        name: of the destination; of the one that a vacant seat waits for.
        pool: of its nodes.
        share: requests/s of the key that go there; None where that depends on the capacities of several pools.
        vacant_since: since when it is not there, seconds since the epoch; None where it is.
        inherited: whose keys it took over when it came as a replacement; None where it did not.
        filled: when it came, seconds since the epoch; None where it was there from the first.
    """

    name: str
    pool: str
    share: float | None
    vacant_since: float | None
    inherited: str | None
    filled: float | None


@dataclass(frozen=True, slots=True)
class Loss:
    """Who serves the key when ``destination`` dies."""

    destination: str
    then: Service


@dataclass(frozen=True, slots=True)
class Planned:
    """A key that has destinations.

    Attributes:
        rate: requests/s when it was planned.
        places: its destinations, by name.
        standbys: that take over, in order.
        now: who serves it now.
        losses: what happens when one of its destinations that are there dies.
        last_move: when and why it got its destinations as they are; None where not recorded.
    """

    rate: float
    places: tuple[Place, ...]
    standbys: tuple[str, ...]
    now: Service
    losses: tuple[Loss, ...]
    last_move: LastMove | None


@dataclass(frozen=True, slots=True)
class Cold:
    """A key that has none: every request goes to the less loaded of two random destinations.

    Attributes:
        dropped: how it lost its destinations when the plan was installed; None where the plan records nothing.
        needed: requests/s that it needs to be admitted; None where any will do.
        lowest: lowest rate of a planned key, requests/s; None where no key is planned.
        overridden: whether the user routes it cold.
    """

    dropped: KeyChange | None
    needed: float | None
    lowest: float | None
    overridden: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a plan says of one key.

    Attributes:
        asked: the key as the user wrote it.
        key: canonical.
        version: of the plan.
        policy: that made it.
        installed: when, seconds since the epoch.
        state: of the key.
    """

    asked: str
    key: str
    version: str
    policy: PolicyName
    installed: float
    state: Planned | Cold


def explain(plan: Plan, asked: str) -> Explanation:
    """Explain one key of a plan.

    Raises:
        DomainError: ``asked`` can be in no plan; the message says why.
    """
    key = plannable(asked)
    found = _found(plan, key)
    state = _planned(plan, *found) if found else _cold(plan, key)
    return Explanation(asked, key, plan.version, plan.policy, plan.installed, state)


def plannable(asked: str) -> str:
    """Return the canonical spelling of a key.

    Raises:
        DomainError: it has none; the message says why.
    """
    key = canonical_key(asked, MAX_KEY_LENGTH)
    if key is not None:
        return key
    if not asked:
        raise DomainError("key: is empty; requests without a key are always served by the cold route")
    why = f"is longer than {MAX_KEY_LENGTH} characters" if len(asked) > MAX_KEY_LENGTH else _alphabet(asked)
    raise DomainError(f"key {asked[:40]!r}: {why}; it can be in no plan and is served by the cold route")


def _alphabet(asked: str) -> str:
    if asked.endswith("."):
        return "ends with a dot, which the gateway's counters would lose"
    wrong = next(one for one in asked if canonical_key(f"{one}a", 2) is None)
    return f"has {wrong!r}, and keys have only ASCII letters, digits and {KEY_PUNCTUATION}"


def _found(plan: Plan, key: str) -> tuple[Group, int] | None:
    holders = (group for group in plan.groups if key in group.keys)
    return next(((group, group.keys.index(key)) for group in holders), None)


def _planned(plan: Plan, group: Group, at: int) -> Planned:
    seats = [plan.seat(index) for index in group.seats]
    standbys = [plan.seat(index) for index in group.standbys]
    share = group.rates[at] / len(seats) if len({seat.pool for seat in seats}) == 1 else None
    return Planned(
        rate=group.rates[at],
        places=tuple(sorted((_place(seat, share) for seat in seats), key=lambda one: one.name)),
        standbys=tuple(seat.name for seat in standbys),
        now=_service(seats, standbys),
        losses=tuple(Loss(name, _service(seats, standbys, without=name)) for name in _present(seats)),
        last_move=group.moves[at] if group.moves else None,
    )


def _place(seat: Seat, share: float | None) -> Place:
    return Place(seat.name, seat.pool, share, seat.vacated, seat.inherited, seat.filled)


def _service(seats: Iterable[Seat], standbys: Iterable[Seat], *, without: str | None = None) -> Service:
    for by, choice in ((Server.DESTINATIONS, seats), (Server.STANDBY, standbys)):
        names = tuple(name for name in _present(choice) if name != without)
        if names:
            return Service(by, names)
    return Service(Server.FLEET)


def _present(seats: Iterable[Seat]) -> tuple[str, ...]:
    return tuple(sorted(seat.destination for seat in seats if seat.destination is not None))


def _cold(plan: Plan, key: str) -> Cold:
    lost = (one for one in plan.changes if one.key == key and one.target is None)
    lowest = min((min(group.rates) for group in plan.groups), default=None)
    overridden = any(one.key == key and one.route is OverrideRoute.COLD for one in plan.basis.overrides)
    return Cold(next(lost, None), _needed(plan, lowest), lowest, overridden)


def _needed(plan: Plan, lowest: float | None) -> float | None:
    """Policy Paper records no bar; it admits by rate alone, so the lowest planned rate is one."""
    summary = plan.summary
    if summary.bar > 0:
        return summary.bar
    full = summary.slots_used >= summary.slots_total and summary.keys_admitted < summary.keys_known
    return lowest if full and plan.policy is PolicyName.PAPER else None
