"""One engine in virtual time."""

from collections import deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

from cacheroute.simulation.engine_model.requests import EngineRequest, FinishReason, LiveRequest
from cacheroute.simulation.engine_model.scheduler import Batch, CacheCounters, EngineLimits, Scheduler
from cacheroute.simulation.engine_model.step_time import RequestOverheads, StepCosts
from cacheroute.simulation.errors import SimulationError


@dataclass(frozen=True, slots=True)
class EngineTiming:
    """How fast an engine is."""

    costs: StepCosts
    overheads: RequestOverheads = field(default_factory=RequestOverheads)
    speed: float = 1.0
    """Every duration is divided by this."""


@dataclass(slots=True)
class Progress:
    """What happened while the clock advanced."""

    started: list[LiveRequest] = field(default_factory=list)
    """Requests that got their first token."""
    emitted: set[LiveRequest] = field(default_factory=set)
    """Requests that got at least one token."""
    finished: list[LiveRequest] = field(default_factory=list)
    """Requests whose answer is complete, in order of time."""
    gaps: list[tuple[float, int]] = field(default_factory=list)
    """Seconds between two tokens of a request, with the number of tokens that came after such a gap."""
    tokens: int = 0
    """Tokens generated."""


@dataclass(frozen=True, slots=True)
class EngineState:
    """What an engine reports of itself."""

    running: int
    waiting: int
    kv_usage: float
    """Share of the KV blocks in use, 0 to 1."""


class EngineModel:
    """A vLLM engine without a GPU.

    The caller owns the clock: times are seconds of any clock that does not go back. Call ``advance`` when
    ``next_event`` is due, and before ``submit`` and ``abort``.
    """

    def __init__(self, limits: EngineLimits, timing: EngineTiming) -> None:
        self._limits = limits
        self._timing = timing
        self._scheduler = Scheduler(limits)
        self._arriving: deque[LiveRequest] = deque()
        self._closing: list[tuple[float, int, LiveRequest]] = []
        self._tickets = count()
        self._step: Batch | None = None
        self._step_ends = inf

    @property
    def counters(self) -> CacheCounters:
        """Totals since the start."""
        return self._scheduler.counters

    def state(self) -> EngineState:
        """Return what runs and waits now."""
        scheduler = self._scheduler
        return EngineState(len(scheduler.running), len(scheduler.waiting), scheduler.pool.usage)

    def submit(self, request: EngineRequest, now: float) -> LiveRequest:
        """Take a request; raises SimulationError when it cannot fit into the engine at all."""
        total = request.prompt_tokens + request.output_tokens
        if request.prompt_tokens < 1 or request.output_tokens < 1:
            raise SimulationError("a request needs at least one prompt token and one output token")
        if total > self._limits.tokens:
            raise SimulationError(
                f"a request of {total} tokens exceeds the KV cache of {self._limits.tokens} tokens"
            )
        live = LiveRequest(request, now, now + self._timing.overheads.before_queue / self._timing.speed)
        self._arriving.append(live)
        return live

    def abort(self, live: LiveRequest, now: float) -> None:
        """End a request at once; nothing happens to one that has ended."""
        if live.finish_reason is not None:
            return
        self._scheduler.remove(live)
        if live in self._arriving:
            self._arriving.remove(live)
        self._closing = [entry for entry in self._closing if entry[2] is not live]
        heapify(self._closing)
        live.finish_reason, live.finished = FinishReason.ABORT, now

    def next_event(self) -> float:
        """Return when something happens next if nothing is submitted; infinity when the engine is idle."""
        due = self._step_ends
        if self._arriving:
            due = min(due, self._arriving[0].queued)
        if self._closing:
            due = min(due, self._closing[0][0])
        return due

    def advance(self, now: float) -> Progress:
        """Let everything happen that is due up to ``now``."""
        progress = Progress()
        while (due := self.next_event()) <= now:
            self._happen(due, progress)
        return progress

    def _happen(self, now: float, progress: Progress) -> None:
        while self._closing and self._closing[0][0] <= now:
            _, _, live = heappop(self._closing)
            live.finish_reason = live.request.finish_reason
            progress.finished.append(live)
        if self._step is not None and self._step_ends <= now:
            self._end_step(self._step, now, progress)
        while self._arriving and self._arriving[0].queued <= now:
            self._scheduler.waiting.append(self._arriving.popleft())
        if self._step is None:
            self._begin_step(now)

    def _begin_step(self, now: float) -> None:
        batch = self._scheduler.schedule(now)
        if batch.chunks:
            self._step = batch
            self._step_ends = now + self._timing.costs.seconds(batch.load()) / self._timing.speed

    def _end_step(self, step: Batch, now: float, progress: Progress) -> None:
        self._step, self._step_ends = None, inf
        emitted = self._scheduler.complete(step, now)
        progress.emitted.update(emitted)
        progress.tokens += len(emitted)
        gaps: dict[float, int] = {}
        for live in emitted:
            if live.generated == 1:
                progress.started.append(live)
            else:
                gap = now - live.token_before
                gaps[gap] = gaps.get(gap, 0) + 1
            if live.exhausted:
                self._close(live, now)
        progress.gaps.extend(gaps.items())

    def _close(self, live: LiveRequest, now: float) -> None:
        overheads = self._timing.overheads
        delay = overheads.at_end + overheads.per_output_token * live.generated
        live.finished = now + delay / self._timing.speed
        heappush(self._closing, (live.finished, next(self._tickets), live))
