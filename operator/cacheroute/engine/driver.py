"""Runs the engine model against the real clock. It sleeps until the next event, so an idle engine costs nothing."""

import asyncio
from math import inf
from time import monotonic

from cacheroute.engine.metrics import EngineMetrics
from cacheroute.simulation.engine_model.model import EngineModel
from cacheroute.simulation.engine_model.requests import EngineRequest, FinishReason, LiveRequest

# Timers below the event loop's resolution would only spin. Steps that are shorter are computed several at a time.
_SHORTEST_SLEEP = 0.001
# When the machine is too slow for the speed asked for, the engine's clock falls behind instead of starving the server.
_MOST_BEHIND = 0.05


class Ticket:
    """A request in the engine, as its handler sees it."""

    def __init__(self, live: LiveRequest, *, stream: bool) -> None:
        self.live = live
        self.stream = stream
        self.news = asyncio.Event()
        """Set when the request has ended or, for streams, has more tokens."""
        self.lost = False
        """Whether the engine ended before the request."""


class Driver:
    """The one user of an engine model; belongs to one event loop."""

    def __init__(self, model: EngineModel, metrics: EngineMetrics) -> None:
        self._model = model
        self._metrics = metrics
        self._tickets: dict[LiveRequest, Ticket] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = inf
        self._behind = 0.0
        self._refusing = self._ended = False
        self._empty = asyncio.Event()
        self._empty.set()

    def submit(self, request: EngineRequest, *, stream: bool) -> Ticket:
        """Take a request; during a shutdown it ends at once, as in vLLM: aborted, or lost without an engine."""
        now = self._advance()
        if self._refusing:
            live = LiveRequest(request, now, now, finished=now, finish_reason=FinishReason.ABORT)
            self._metrics.record_abort()
            ticket = Ticket(live, stream=stream)
            ticket.lost = self._ended
            ticket.news.set()
            return ticket
        ticket = Ticket(self._model.submit(request, now), stream=stream)
        self._tickets[ticket.live] = ticket
        self._empty.clear()
        self._arm()
        return ticket

    def abort(self, ticket: Ticket) -> None:
        """End a request that has not ended yet."""
        if ticket.live not in self._tickets:
            return
        self._model.abort(ticket.live, self._advance())
        if ticket.live in self._tickets:
            self._metrics.record_abort()
            self._end(ticket.live)
        self._arm()

    def refuse(self) -> None:
        """Take no requests from now on."""
        self._refusing = True

    def end(self) -> None:
        """Lose all requests, those too that come from now on."""
        self._refusing = self._ended = True
        for ticket in tuple(self._tickets.values()):
            ticket.lost = True
            self.abort(ticket)

    async def drained(self) -> None:
        """Wait until no request is left."""
        await self._empty.wait()

    def _advance(self) -> float:
        now = monotonic() - self._behind
        late = now - self._model.next_event()
        if late > _MOST_BEHIND:
            self._behind += late - _MOST_BEHIND
            now -= late - _MOST_BEHIND
        progress = self._model.advance(now)
        if progress.emitted or progress.finished:
            self._metrics.record(progress)
        for live in progress.emitted:
            ticket = self._tickets.get(live)
            if ticket is not None and ticket.stream:
                ticket.news.set()
        for live in progress.finished:
            self._end(live)
        return now

    def _end(self, live: LiveRequest) -> None:
        self._tickets.pop(live).news.set()
        if not self._tickets:
            self._empty.set()

    def _arm(self) -> None:
        due = self._model.next_event()
        if due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_due = due
        if due < inf:
            delay = due - (monotonic() - self._behind)
            self._timer = asyncio.get_running_loop().call_later(max(delay, _SHORTEST_SLEEP), self._wake)

    def _wake(self) -> None:
        self._timer, self._timer_due = None, inf
        self._advance()
        self._arm()
