"""Which notices become Events: repeats are counted, floods are cut. Pure."""

from dataclasses import dataclass, field

from cacheroute.domain.decision import Notice
from cacheroute.domain.spec import PlanRef

REPEAT_SECONDS = 600.0
"""A notice that comes again within this time counts up the Event that is there."""
BURST = 25
"""New Events of one RoutingPlan at once."""
REFILL_SECONDS = 30.0
"""Time in which one more new Event is allowed."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Write a new Event."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Count up an Event.

    Attributes:
        event: its name.
        count: how often it happened now.
    """

    event: str
    count: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """Write nothing: too many."""


@dataclass(slots=True)
class _Known:
    event: str
    count: int
    last: float


@dataclass(slots=True)
class _Budget:
    left: float
    time: float


@dataclass(slots=True)
class EventLedger:
    """What was told lately."""

    _known: dict[tuple[str, Notice], _Known] = field(default_factory=dict)
    _budgets: dict[PlanRef, _Budget] = field(default_factory=dict)

    def judge(self, ref: PlanRef, uid: str, notice: Notice, now: float) -> Fresh | Repeat | Dropped:
        """Decide what a notice becomes at ``now``, seconds."""
        self._forget(now)
        known = self._known.get((uid, notice))
        if known is not None:
            return Repeat(known.event, known.count + 1)
        return Fresh() if self._affordable(ref, now) else Dropped()

    def record(self, uid: str, notice: Notice, event: str, now: float) -> None:
        """Remember that a notice was told by ``event``."""
        known = self._known.get((uid, notice))
        count = known.count + 1 if known is not None and known.event == event else 1
        self._known[uid, notice] = _Known(event, count, now)

    def forget(self, uid: str, notice: Notice) -> None:
        """Forget an Event that is no longer there."""
        self._known.pop((uid, notice), None)

    def _affordable(self, ref: PlanRef, now: float) -> bool:
        budget = self._budgets.setdefault(ref, _Budget(BURST, now))
        budget.left = min(BURST, budget.left + (now - budget.time) / REFILL_SECONDS)
        budget.time = now
        if budget.left < 1:
            return False
        budget.left -= 1
        return True

    def _forget(self, now: float) -> None:
        self._known = {key: one for key, one in self._known.items() if now - one.last < REPEAT_SECONDS}
