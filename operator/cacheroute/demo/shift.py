"""What one plan changed against the one before: keys that moved, apart from keys that are new to the plan."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cacheroute.domain.movement import newly_given, served_by, total_rate
from cacheroute.domain.plan import Plan


@dataclass(frozen=True, slots=True)
class Shift:
    """Changes of a plan, or of several one after the other.

    Attributes:
        keys: planned before and after.
        moved: of those, how many are served elsewhere than before.
        cold_percent: share of the request rate that their move lands on destinations where they are cold.
        admitted: keys that are new to the plan; they were cold before.
        causes: changed (key, destination) pairs by cause, admissions among them.
        phases: what each phase of the planner says it did.
    """

    keys: int = 0
    moved: int = 0
    cold_percent: float = 0.0
    admitted: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)

    @property
    def moved_percent(self) -> float:
        """Share of the planned keys that moved."""
        return 100 * self.moved / self.keys if self.keys else 0.0


def shift(before: Plan | None, after: Plan) -> Shift:
    """Compare two plans; before the first one every key was cold."""
    phases = {one.name: one.message for one in after.summary.phases}
    former, now = {} if before is None else served_by(before), served_by(after)
    common = former.keys() & now.keys()
    moved = {key for key in common if former[key] != now[key]}
    rates = {key: rate for group in after.groups for key, rate in zip(group.keys, group.rates, strict=True)}
    cold = sum(rates[key] * newly_given(former[key], now[key]) for key in sorted(moved))
    whole = total_rate(after)
    renewed = before is None or before.version != after.version
    return Shift(
        keys=len(common),
        moved=len(moved),
        cold_percent=100 * cold / whole if whole > 0 else 0.0,
        admitted=len(now.keys() - former.keys()),
        causes=dict(Counter(change.cause.value for change in after.changes)) if renewed else {},
        phases=phases,
    )


def added(shifts: Iterable[Shift]) -> Shift:
    """Return several changes as one; the phases are those of the last."""
    total, causes = Shift(), Counter[str]()
    for one in shifts:
        causes.update(one.causes)
        total = Shift(
            keys=max(total.keys, one.keys),
            moved=total.moved + one.moved,
            cold_percent=total.cold_percent + one.cold_percent,
            admitted=total.admitted + one.admitted,
            phases=one.phases,
        )
    return Shift(total.keys, total.moved, total.cold_percent, total.admitted, dict(causes), total.phases)
