"""Who fills the seats of a plan: vacate those of destinations that went, fill them with those that came.

A repair is a pure function of the stored plan and what is observed, so that every replica makes the same one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cacheroute.domain.fleet import Destination, DestinationState, Fleet, Pool
from cacheroute.domain.plan import Plan, Seat


@dataclass(frozen=True, slots=True)
class SeatChange:
    """One seat that changed hands.

    Attributes:
        seat: index.
        before: who filled it; None where it was vacant.
        after: who fills it; None where it is vacant now.
        inherited_from: whose keys the newcomer takes over; None where nobody came, or the same one came back.
    """

    seat: int
    before: str | None
    after: str | None
    inherited_from: str | None = None


def repair(plan: Plan, fleet: Fleet, now: float) -> Plan:
    """Return the plan with its seats vacated and filled by what is observed; the same object if none changed.

    A destination that is not Ready, draining or gone leaves its seat. A destination that comes back takes its
    own seat; any other ready destination without a seat takes the longest vacant one of its pool.
    """
    seats = reseat(plan.seats, fleet, now)
    return plan if seats == plan.seats else replace(plan, seats=seats)


def reseat(seats: tuple[Seat, ...], fleet: Fleet, now: float) -> tuple[Seat, ...]:
    """Vacate, then fill; the order of the seats stays."""
    ready = {one.name: one for one in fleet.in_state(DestinationState.READY)}
    settled = [_settled(seat, ready, now) for seat in seats]
    taken = {seat.destination for seat in settled}
    waiting = {name: one for name, one in ready.items() if name not in taken}
    filled = {seat.index: seat for seat in _fill(settled, waiting, now)}
    return tuple(filled.get(seat.index, seat) for seat in settled)


def _settled(seat: Seat, ready: dict[str, Destination], now: float) -> Seat:
    if seat.destination is None:
        return seat
    occupant = ready.get(seat.destination)
    if occupant is None:
        return replace(seat, destination=None, last=seat.destination, vacated=now)
    return seat if occupant.pool == seat.pool else replace(seat, pool=occupant.pool)


def _fill(seats: Iterable[Seat], waiting: dict[str, Destination], now: float) -> list[Seat]:
    """Return the vacant seats that somebody takes, filled; ``waiting`` is in the order of names."""
    vacant = sorted(
        (seat for seat in seats if seat.destination is None), key=lambda one: (one.vacated or 0, one.index)
    )
    filled: list[Seat] = []
    for matches in (_is_own, _is_of_pool):
        for seat in vacant:
            taker = next((one for one in waiting.values() if matches(seat, one)), None)
            if taker is not None and seat.index not in {one.index for one in filled}:
                filled.append(_seated(seat, waiting.pop(taker.name), now))
    return filled


def _is_own(seat: Seat, destination: Destination) -> bool:
    return seat.last == destination.name


def _is_of_pool(seat: Seat, destination: Destination) -> bool:
    return seat.pool == destination.pool


def _seated(seat: Seat, destination: Destination, now: float) -> Seat:
    inherited = seat.last if seat.last != destination.name else None
    return Seat(
        index=seat.index,
        pool=destination.pool,
        destination=destination.name,
        filled=now,
        inherited=inherited,
    )


def changes(before: Iterable[Seat], after: Iterable[Seat]) -> tuple[SeatChange, ...]:
    """Return which seats changed hands, ascending by index; seats that only one side has are not here."""
    former = {seat.index: seat for seat in before}
    return tuple(
        SeatChange(
            seat=seat.index,
            before=former[seat.index].destination,
            after=seat.destination,
            inherited_from=_inherited(former[seat.index], seat),
        )
        for seat in after
        if seat.index in former and former[seat.index].destination != seat.destination
    )


def _inherited(before: Seat, after: Seat) -> str | None:
    if after.destination is None or after.destination == before.name:
        return None
    return before.name


@dataclass(frozen=True, slots=True)
class Seating:
    """The seats that a new plan is made for.

    Attributes:
        seats: in the order of names (the planner's tie order), not empty unless there is nothing to plan on.
        next_seat: index of the next new seat.
    """

    seats: tuple[Seat, ...]
    next_seat: int


def seating(plan: Plan | None, fleet: Fleet, pools: Iterable[Pool], now: float, grace: float) -> Seating:
    """Return the seats for the next plan.

    Kept: filled seats, and vacant ones for ``grace`` seconds, so that a replacement finds its keys. New: one
    for each ready destination without a seat. Dropped: seats vacant for longer, and seats of pools that the
    spec no longer has.
    """
    known = {pool.name for pool in pools}
    former = reseat(plan.seats, fleet, now) if plan else ()
    kept = [seat for seat in former if seat.pool in known and not _expired(seat, now - grace)]
    seated = {seat.destination for seat in kept}
    newcomers = [one for one in fleet.in_state(DestinationState.READY) if one.name not in seated]
    start = plan.next_seat if plan else 0
    added = [Seat(index=start + i, pool=one.pool, destination=one.name) for i, one in enumerate(newcomers)]
    return Seating(
        seats=tuple(sorted((*kept, *added), key=lambda seat: (seat.name, seat.index))),
        next_seat=start + len(added),
    )


def _expired(seat: Seat, before: float) -> bool:
    return seat.destination is None and (seat.vacated or 0.0) <= before
