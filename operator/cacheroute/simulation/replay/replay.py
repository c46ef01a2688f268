"""Replay a trace over N destinations by one policy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.replay.caches import caches
from cacheroute.simulation.replay.figures import Figures, figures
from cacheroute.simulation.replay.kernel import Columns, Routed, in_flight, run
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.routing.view import NOWHERE, memory, view
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
    """

    policy: Policy
    destinations: int
    cache_tokens: int
    seed: int = 0
    seconds_per_output_token: float = 0.025


def replay(trace: Trace, settings: ReplaySettings) -> Figures:
    """Return the figures of a replay; equal arguments give equal results to the bit.

    Raises:
        SimulationError: a setting is out of range.
    """
    if settings.destinations < 1 or settings.cache_tokens < 0:
        raise SimulationError(
            f"replay: {settings.destinations} destinations of {settings.cache_tokens} tokens; "
            "at least one destination and no negative cache is needed"
        )
    columns = columns_of(trace, settings.seconds_per_output_token)
    routed = Routed(np.full(trace.size, NOWHERE, dtype=np.int64), np.zeros(trace.size, dtype=np.int64))
    fleet = view(np.full(settings.destinations, settings.cache_tokens, dtype=np.int64))
    sessions, keys = _count(columns.session), _count(columns.key)
    run(
        settings.policy.value,
        memory(settings.destinations, keys, settings.seed),
        fleet,
        caches(settings.destinations, sessions, max(trace.size, 1)),
        columns,
        routed,
        in_flight(),
        0,
        trace.size,
    )
    return figures(columns, routed, settings.destinations)


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
