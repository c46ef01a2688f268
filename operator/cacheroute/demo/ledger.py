"""What happened under one policy, interval by interval."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cacheroute.demo.shift import Shift, added, shift
from cacheroute.demo.tally import Fate, Figures, Record, figures
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PolicyName


@dataclass(frozen=True, slots=True)
class Course:
    """How long a policy is watched.

    Attributes:
        seconds: length of a control interval.
        warm: intervals that only warm the caches and do not count.
        counted: intervals after them.
    """

    seconds: int
    warm: int
    counted: int

    @property
    def intervals(self) -> int:
        """All of them."""
        return self.warm + self.counted

    @property
    def total(self) -> float:
        """Seconds of all of them."""
        return float(self.seconds * self.intervals)

    def at(self, seconds: float) -> int:
        """Return the number of the interval at a time since the start, from 0; the last one has no end."""
        return min(int(seconds // self.seconds), self.intervals - 1)


@dataclass(frozen=True, slots=True)
class Row:
    """One interval.

    Attributes:
        number: from 0, warm ones included.
        counted: whether it counts.
        figures: of its requests.
        shift: what the plans changed that came in it.
    """

    number: int
    counted: bool
    figures: Figures
    shift: Shift


@dataclass(frozen=True, slots=True)
class Arm:
    """What a policy did in the intervals that count.

    Attributes:
        policy: which.
        figures: of all counted requests.
        rows: the counted intervals.
        failed: requests that failed, in warm intervals too.
    """

    policy: PolicyName
    figures: Figures
    rows: tuple[Row, ...]
    failed: int

    @property
    def moved_percent(self) -> float:
        """Share of the planned keys that moved in an interval, mean."""
        return _mean([row.shift.moved_percent for row in self.rows])

    @property
    def moved(self) -> float:
        """Keys that moved in an interval, mean."""
        return _mean([row.shift.moved for row in self.rows])

    @property
    def admitted(self) -> float:
        """Keys that were new to the plan in an interval, mean."""
        return _mean([row.shift.admitted for row in self.rows])

    @property
    def cold_percent(self) -> float:
        """Share of the request rate that moved keys landed cold in an interval, mean."""
        return _mean([row.shift.cold_percent for row in self.rows])

    @property
    def max_over_mean(self) -> float:
        """Requests of the busiest engine of an interval over the mean engine's, mean of the intervals.

        Not that of the whole: from scratch each interval another engine is the busiest, which evens out in the sum.
        """
        return _mean([row.figures.max_over_mean for row in self.rows])


@dataclass(slots=True)
class Ledger:
    """Every record and every plan of one policy so far.

    Attributes:
        policy: which.
        course: how long it is watched.
        engines: how many there are.
        records: by interval.
        plans: by interval, what each plan changed that came in it.
        failed: requests that failed.
    """

    policy: PolicyName
    course: Course
    engines: int
    records: dict[int, list[Record]] = field(default_factory=dict)
    plans: dict[int, list[Shift]] = field(default_factory=dict)
    failed: int = 0
    _plan: Plan | None = None

    def add(self, record: Record) -> None:
        """Take a record."""
        self.records.setdefault(self.course.at(record.sent), []).append(record)
        self.failed += record.fate is Fate.FAILED

    def see(self, seconds: float, plan: Plan | None) -> None:
        """Take the plan in force so long after the start; nothing happens where it is the one seen before."""
        if plan is None or plan is self._plan:
            return
        self.plans.setdefault(self.course.at(seconds), []).append(shift(self._plan, plan))
        self._plan = plan

    def row(self, number: int) -> Row:
        """Return an interval as far as it is known."""
        found = figures(self.records.get(number, ()), self.engines)
        return Row(number, number >= self.course.warm, found, added(self.plans.get(number, ())))

    def everything(self) -> list[Record]:
        """Return all records."""
        return [record for number in sorted(self.records) for record in self.records[number]]

    def arm(self) -> Arm:
        """Return what counts."""
        numbers = range(self.course.warm, self.course.intervals)
        counted = [record for number in numbers for record in self.records.get(number, ())]
        rows = tuple(self.row(number) for number in numbers)
        return Arm(self.policy, figures(counted, self.engines), rows, self.failed)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
