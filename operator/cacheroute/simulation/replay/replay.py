"""Replay a trace over N destinations by one policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.replay.caches import caches
from cacheroute.simulation.replay.figures import Figures, figures
from cacheroute.simulation.replay.kernel import Columns, Routed, in_flight, run
from cacheroute.simulation.routing.planner import Plans, PlanSettings
from cacheroute.simulation.routing.rates import past_rates
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.routing.view import NOWHERE, memory, view
from cacheroute.simulation.struct import pointer
from cacheroute.simulation.traces.trace import UNKNOWN, Trace


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """One replay.

    Attributes:
        policy: who routes.
        destinations: how many there are, >= 1.
        cache_tokens: tokens that the prefix cache of one destination holds, >= 0.
        seed: of the policy's random choices.
        seconds_per_output_token: for requests whose duration the trace does not know.
        plan: how plans are made; only for Policy.PLANNED, which needs it.
    """

    policy: Policy
    destinations: int
    cache_tokens: int
    seed: int = 0
    seconds_per_output_token: float = 0.025
    plan: PlanSettings | None = None


def replay(trace: Trace, settings: ReplaySettings) -> Figures:
    """Return the figures of a replay; equal arguments give equal results to the bit.

    Raises:
        SimulationError: a setting is out of range.
    """
    columns, routed = route(trace, settings)
    return figures(columns, routed, settings.destinations)


def route(trace: Trace, settings: ReplaySettings) -> tuple[Columns, Routed]:
    """Return the trace as it was replayed, and where each request went.

    Raises:
        SimulationError: a setting is out of range.
    """
    _check(settings)
    columns = columns_of(trace, settings.seconds_per_output_token)
    routed = Routed(np.full(trace.size, NOWHERE, dtype=np.int64), np.zeros(trace.size, dtype=np.int64))
    fleet = view(np.full(settings.destinations, settings.cache_tokens, dtype=np.int64))
    held = caches(settings.destinations, _count(columns.session), max(trace.size, 1))
    known = memory(settings.destinations, _count(columns.key), settings.seed)
    plans = Plans(settings.plan, settings.destinations) if settings.plan else None
    given = pointer(fleet), pointer(held), pointer(columns), pointer(routed)
    flight = in_flight()
    for now, begin, end in _parts(trace, settings.plan):
        if plans is not None and settings.plan is not None and now > 0:
            window, keys = settings.plan.window_seconds, known.home.size
            rates = past_rates(columns.arrival, columns.key, now, window, keys)
            known = plans.replan(known, rates, fleet.up)
        run(settings.policy.value, pointer(known), *given, flight, begin, end)
    return columns, routed


def _check(settings: ReplaySettings) -> None:
    if settings.destinations < 1 or settings.cache_tokens < 0:
        raise SimulationError(
            f"replay: {settings.destinations} destinations of {settings.cache_tokens} tokens; "
            "at least one destination and no negative cache is needed"
        )
    if (settings.policy is Policy.PLANNED) != (settings.plan is not None):
        raise SimulationError("replay: policy planned, and no other, needs to know how plans are made")


def _parts(trace: Trace, plan: PlanSettings | None) -> Iterator[tuple[float, int, int]]:
    """Yield when each plan is made, 0 for none, and the range of requests that are routed by it."""
    if plan is None:
        yield 0.0, 0, trace.size
        return
    times = np.arange(int(trace.seconds / plan.interval_seconds) + 1) * plan.interval_seconds
    bounds = [*np.searchsorted(trace.arrival, times).tolist(), trace.size]
    for now, (begin, end) in zip(times.tolist(), pairwise(bounds), strict=True):
        yield now, begin, end


def columns_of(trace: Trace, seconds_per_output_token: float) -> Columns:
    """Return the kernel's columns: each request without a key or session gets one of its own."""
    guess = trace.output * seconds_per_output_token
    return Columns(
        arrival=trace.arrival,
        key=_dense(trace.key.astype(np.int64)),
        session=_dense(trace.session),
        prompt=trace.prompt.astype(np.int64),
        output=trace.output.astype(np.int64),
        duration=np.where(np.isnan(trace.duration), guess, trace.duration),
    )


def _dense(values: NDArray[np.int64]) -> NDArray[np.int64]:
    alone = values == UNKNOWN
    own = np.where(alone, -2 - np.arange(values.size), values)
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


def _count(dense: NDArray[np.int64]) -> int:
    return int(dense.max()) + 1 if dense.size else 0
