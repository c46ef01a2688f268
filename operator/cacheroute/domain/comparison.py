"""What moves from one plan to another, key by key, whatever their histories: destinations compare by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cacheroute.domain.movement import newly_given, total_rate
from cacheroute.domain.plan import Group, LastMove, MoveCause, Plan, PlanSummary, Seat

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyMove:
    """A key whose destinations differ.

    Attributes:
        key: canonical.
        rate: requests/s, of the later plan; of the earlier one where the later one does not plan the key.
        before: names of its destinations, sorted; empty where it was cold.
        after: the same in the later plan; empty where it is cold.
        cause: what the later plan recorded since; None where it recorded nothing.
        inherited: it kept its place, and another destination fills that place now.
    """

    key: str
    rate: float
    before: Names
    after: Names
    cause: MoveCause | None
    inherited: bool


@dataclass(frozen=True, slots=True)
class FleetChange:
    """Which destinations differ; names, sorted.

    Attributes:
        joined: in the later plan only.
        left: in the earlier plan only.
        vacated: in both, and only the later one waits for a replacement.
        returned: in both, and only the earlier one waited for a replacement.
    """

    joined: Names
    left: Names
    vacated: Names
    returned: Names

    def __bool__(self) -> bool:
        """Tell whether there is any difference."""
        return bool(self.joined or self.left or self.vacated or self.returned)


@dataclass(frozen=True, slots=True)
class Side:
    """What is shown of either plan beside the differences."""

    version: str
    revision: str
    installed: float
    summary: PlanSummary

    @classmethod
    def of(cls, plan: Plan) -> "Side":
        """Return it for a plan."""
        return cls(plan.version, plan.revision, plan.installed, plan.summary)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two plans.

    Attributes:
        before: the earlier plan.
        after: the later plan.
        fleet: which destinations differ.
        moves: keys whose destinations differ, highest rate first, ties by key.
        standbys: keys in both plans whose standbys differ.
        rewarm: share of the later plan's request rate that lands on destinations newly given to their key, 0..1.
        churn: 1 - Jaccard of the (key, destination name) pairs, 0..1 (CacheRoute, section 5).
    """

    before: Side
    after: Side
    fleet: FleetChange
    moves: tuple[KeyMove, ...]
    standbys: int
    rewarm: float
    churn: float

    @property
    def admitted(self) -> int:
        """Keys that only the later plan has."""
        return sum(not one.before for one in self.moves)

    @property
    def dropped(self) -> int:
        """Keys that only the earlier plan has."""
        return sum(not one.after for one in self.moves)

    @property
    def moved(self) -> int:
        """Keys that both plans have, at other destinations."""
        return len(self.moves) - self.admitted - self.dropped

    @property
    def different(self) -> bool:
        """Whether a request could be served elsewhere."""
        return bool(self.moves or self.standbys or self.fleet)


def compare(before: Plan, after: Plan) -> Comparison:
    """Return what moves from ``before`` to ``after``; a vacant seat counts as the destination it waits for."""
    former, now = _places(before), _places(after)
    moves = sorted(_moves(before, after, former, now), key=lambda one: (-one.rate, one.key))
    total, landed = (
        total_rate(after),
        sum(one.rate * newly_given(set(one.before), set(one.after)) for one in moves),
    )
    return Comparison(
        before=Side.of(before),
        after=Side.of(after),
        fleet=_fleet_change(before, after),
        moves=tuple(moves),
        standbys=sum(former[key].standbys != here.standbys for key, here in now.items() if key in former),
        rewarm=min(landed / total, 1.0) if total > 0 else 0.0,
        churn=_churn(former, now, moves),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one key is."""

    names: Names
    standbys: Names
    inherited_from: frozenset[str]
    rate: float
    move: LastMove | None


def _places(plan: Plan) -> dict[str, _Place]:
    seats = {seat.index: seat for seat in plan.seats}
    return {key: place for group in plan.groups for key, place in _of_group(group, seats)}


def _of_group(group: Group, seats: Mapping[int, Seat]) -> Iterator[tuple[str, _Place]]:
    own = [seats[index] for index in group.seats]
    names = tuple(sorted(seat.name for seat in own))
    standbys = tuple(seats[index].name for index in group.standbys)
    inherited = frozenset(seat.inherited for seat in own if seat.inherited)
    moves = group.moves or (None,) * len(group.keys)
    for key, rate, move in zip(group.keys, group.rates, moves, strict=True):
        yield key, _Place(names, standbys, inherited, rate, move)


def _moves(
    before: Plan, after: Plan, former: Mapping[str, _Place], now: Mapping[str, _Place]
) -> Iterator[KeyMove]:
    for key, here in now.items():
        there = former.get(key)
        if there is None or there.names != here.names:
            yield _arrival(key, there, here)
    lost = {one.key: one.cause for one in after.changes if one.target is None}
    known = after.revision != before.revision
    for key, there in former.items():
        if key not in now:
            yield KeyMove(key, there.rate, there.names, (), lost.get(key) if known else None, inherited=False)


def _arrival(key: str, there: _Place | None, here: _Place) -> KeyMove:
    """A recorded cause is told where it is news: the earlier plan has another one, or none."""
    names = there.names if there else ()
    gone = set(names) - set(here.names)
    recorded = here.move if here.move and (there is None or there.move != here.move) else None
    inherited = bool(gone) and gone <= here.inherited_from and recorded is None
    return KeyMove(key, here.rate, names, here.names, recorded.cause if recorded else None, inherited)


def _churn(former: Mapping[str, _Place], now: Mapping[str, _Place], moves: list[KeyMove]) -> float:
    pairs = sum(len(one.names) for one in former.values()), sum(len(one.names) for one in now.values())
    went = sum(len(set(one.before) - set(one.after)) for one in moves)
    common = pairs[0] - went
    union = sum(pairs) - common
    return 1.0 - common / union if union else 0.0


def _fleet_change(before: Plan, after: Plan) -> FleetChange:
    former = {seat.name: seat for seat in before.seats}
    now = {seat.name: seat for seat in after.seats}
    both = sorted(former.keys() & now.keys())
    vacant_before = {name for name in both if former[name].destination is None}
    vacant_after = {name for name in both if now[name].destination is None}
    return FleetChange(
        joined=tuple(sorted(now.keys() - former.keys())),
        left=tuple(sorted(former.keys() - now.keys())),
        vacated=tuple(sorted(vacant_after - vacant_before)),
        returned=tuple(sorted(vacant_before - vacant_after)),
    )
