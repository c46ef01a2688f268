"""What the live table shows, computed from the records of the phase that runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cacheroute.demo.tally import Fate, Record, hit_percent

RECENT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Row:
    """One engine in this phase.

    Attributes:
        engine: name.
        running: whether its process runs.
        requests: that it answered.
        hit_percent: of their prompt tokens.
        load: requests/s of the last RECENT_SECONDS.
    """

    engine: str
    running: bool
    requests: int
    hit_percent: float
    load: float


@dataclass(frozen=True, slots=True)
class Phase:
    """What is being done.

    Attributes:
        name: short.
        title: for people.
        total: its length, seconds.
    """

    name: str
    title: str
    total: float


@dataclass(frozen=True, slots=True)
class Board:
    """One picture.

    Attributes:
        phase: what is being done.
        seconds: since when.
        plan: version of the plan in force and how it is used; empty before the first.
        rows: by engine.
        fates: number of requests by what became of them, in all phases.
    """

    phase: Phase
    seconds: float
    plan: str
    rows: tuple[Row, ...]
    fates: Mapping[Fate, int]

    @property
    def hit_percent(self) -> float:
        """Token hit of the phase so far, of all engines (which get prompts of the same length)."""
        total = sum(row.requests for row in self.rows)
        return sum(row.requests * row.hit_percent for row in self.rows) / total if total else 0.0


def rows(records: Sequence[Record], running: Mapping[str, bool], seconds: float) -> tuple[Row, ...]:
    """Return a row for each engine.

    Args:
        records: of the phase that runs.
        running: by engine.
        seconds: since the phase began.
    """
    answered = [one for one in records if one.fate is Fate.ANSWERED]
    return tuple(
        _row(name, up, [one for one in answered if one.destination == name], seconds)
        for name, up in running.items()
    )


def _row(engine: str, running: bool, records: Sequence[Record], seconds: float) -> Row:  # noqa: FBT001 - a column
    span = min(RECENT_SECONDS, seconds)
    recent = sum(one.sent >= seconds - span for one in records)
    return Row(engine, running, len(records), hit_percent(records), recent / span if span > 0 else 0.0)
