"""Counters over time → rates over a window; a counter that falls was reset and starts again from 0."""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from cacheroute.prom.exposition import ByKey, Figure, PlanCounters

MAX_KEYS = 200_000
"""Keys kept of one step; clients choose keys, so memory must not depend on them. Further ones count as unkeyed."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What one proxy counted for one plan over some time.

    Attributes:
        requests: by key, over all decisions.
        prompt_tokens: likewise.
        figures: by figure and arm, as PlanCounters has them.
        start: of the first step, seconds.
        end: of the last step, seconds; later than ``start``.
    """

    requests: ByKey
    prompt_tokens: ByKey
    figures: dict[Figure, float]
    start: float
    end: float


@dataclass(slots=True)
class _Sum:
    requests: ByKey = field(default_factory=lambda: defaultdict(float))
    prompt_tokens: ByKey = field(default_factory=lambda: defaultdict(float))
    figures: dict[Figure, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(slots=True)
class _Step:
    start: float
    end: float
    plans: dict[str, _Sum]


@dataclass(slots=True)
class CounterWindow:
    """The growth of one proxy's counters, step by step, for as long as any plan's window needs.

    Attributes:
        keep_seconds: how long steps are kept.
    """

    keep_seconds: float
    _last: dict[str, PlanCounters] | None = None
    _last_time: float = 0.0
    _steps: deque[_Step] = field(default_factory=deque)

    @property
    def newest(self) -> float | None:
        """Time of the last sample, seconds; None before the first."""
        return None if self._last is None else self._last_time

    def add(self, time: float, counters: dict[str, PlanCounters]) -> None:
        """Take a sample; the first one is only what the next is compared with."""
        if self._last is not None and time > self._last_time:
            grown = {plan: _grown(self._last.get(plan), now) for plan, now in counters.items()}
            self._steps.append(_Step(self._last_time, time, grown))
        self._last, self._last_time = counters, time
        while self._steps and self._steps[0].end <= time - self.keep_seconds:
            self._steps.popleft()

    def growth(self, plan: str, now: float, seconds: float) -> Growth | None:
        """Return the growth over the last ``seconds``; None where no two samples reach into them."""
        steps = [step for step in self._steps if step.end > now - seconds]
        if not steps:
            return None
        total = _Sum()
        for step in steps:
            _add(total, step.plans.get(plan))
        start, end = steps[0].start, steps[-1].end
        return Growth(
            dict(total.requests),
            dict(total.prompt_tokens),
            dict(total.figures),
            start,
            end,
        )


def _grown(before: PlanCounters | None, now: PlanCounters) -> _Sum:
    """Return what was counted since ``before``, a new counter from 0; only keys that grew are kept."""
    former = before or PlanCounters()
    return _Sum(
        requests=_grown_by_key(former.requests, now.requests),
        prompt_tokens=_grown_by_key(former.prompt_tokens, now.prompt_tokens),
        figures={
            figure: _delta(former.figures.get(figure, 0.0), value) for figure, value in now.figures.items()
        },
    )


def _grown_by_key(before: dict[str, ByKey], now: dict[str, ByKey]) -> ByKey:
    grown: ByKey = defaultdict(float)
    for decision, counters in now.items():
        former = before.get(decision, {})
        for key, value in counters.items():
            delta = _delta(former.get(key, 0.0), value)
            if delta > 0:
                grown[key if key in grown or len(grown) < MAX_KEYS else ""] += delta
    return grown


def _delta(before: float, now: float) -> float:
    return now - before if now >= before else now


def _add(total: _Sum, step: _Sum | None) -> None:
    if step is None:
        return
    for key, value in step.requests.items():
        total.requests[key] += value
    for key, value in step.prompt_tokens.items():
        total.prompt_tokens[key] += value
    for figure, number in step.figures.items():
        total.figures[figure] += number
