"""What a policy sees: the request, the destinations, and what it remembers. All arrays are changed in place."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.routing.ring import Ring, ring
from cacheroute.simulation.struct import struct

NOWHERE = -1
"""No destination."""
HISTORY_ROWS = 1 << 17
"""Requests that are remembered: three minutes of 700 requests/s."""


class Request(NamedTuple):
    """One request; tokens are counts, time is seconds since the first request."""

    time: float
    key: int
    """Dense index of its key; requests without a key have one of their own."""
    session: int
    prompt: int
    output: int


@struct
class View(NamedTuple):
    """The R destinations as a router knows them, kept up by the simulator."""

    up: NDArray[np.bool_]
    """bool[R], takes requests."""
    running: NDArray[np.int64]
    """int64[R], requests that are queued or computed."""
    tokens: NDArray[np.int64]
    """int64[R], prompt and output tokens of those."""
    prefill: NDArray[np.int64]
    """int64[R], prompt tokens that are still to be computed, those found in the cache left out."""
    cached: NDArray[np.int64]
    """int64[R], tokens in the prefix cache."""
    used: NDArray[np.int64]
    """int64[R], tokens of the cache that requests use now."""
    capacity: NDArray[np.int64]
    """int64[R], tokens that the prefix cache holds."""
    match: NDArray[np.int64]
    """int64[R], tokens of this request's prompt that are in the cache of each destination."""


class Costs(NamedTuple):
    """What policies that estimate latency are told of the engines, seconds."""

    prompt_token: float = 0.0001
    """To compute one prompt token."""
    output_token: float = 0.0003
    """Of the engine's time, for one output token of one request in a batch."""
    objective: float = 3.5
    """Limit on the time to the first token (SLO)."""


_COSTS = Costs()


@struct
class Stale(NamedTuple):
    """Load figures of some time ago."""

    time: NDArray[np.float64]
    """float64[1], when they were taken."""
    running: NDArray[np.int64]
    used: NDArray[np.int64]


@struct
class History(NamedTuple):
    """A ring of what was routed, H rows: row n is at n mod H."""

    time: NDArray[np.float64]
    at: NDArray[np.int64]
    cost: NDArray[np.float64]
    span: NDArray[np.int64]
    """int64[2], numbers of the oldest row and of the next one."""


@struct
class Memory(NamedTuple):
    """What policies remember between requests; a policy uses what it needs."""

    random: NDArray[np.uint64]
    """uint64[1], state of the random numbers."""
    turn: NDArray[np.int64]
    """int64[1], requests so far."""
    home: NDArray[np.int64]
    """int64[K], the destination that a key was bound to, or NOWHERE."""
    first: Ring
    second: Ring
    """Two hash rings; the second is that of the two-choice policies."""
    offsets: NDArray[np.int64]
    """int64[K+1], the plan in force: key k has members[offsets[k]:offsets[k+1]], none where it is cold."""
    members: NDArray[np.int64]
    standby: NDArray[np.int64]
    """int64[K], takes over where all members are down, or NOWHERE."""
    costs: Costs
    load: NDArray[np.float64]
    """float64[R], work given in the last minutes, seconds."""
    reuse: NDArray[np.float64]
    """float64[R], share of the prompts that was found, 0..1."""
    answers: NDArray[np.float64]
    """float64[1], mean output tokens."""
    history: History
    stale: Stale


def view(capacities: NDArray[np.int64]) -> View:
    """Return an idle fleet with these cache capacities, tokens."""
    running, tokens, prefill, cached, used, match = (
        np.zeros(capacities.size, dtype=np.int64) for _ in range(6)
    )
    up = np.ones(capacities.size, dtype=np.bool_)
    return View(up, running, tokens, prefill, cached, used, capacities.astype(np.int64), match)


def memory(destinations: int, keys: int, seed: int, costs: Costs = _COSTS) -> Memory:
    """Return what a policy knows before the first request: nothing, and no plan."""
    counts = np.zeros(destinations, dtype=np.int64)
    return Memory(
        random=np.array([_scrambled(seed)], dtype=np.uint64),
        turn=np.zeros(1, dtype=np.int64),
        home=np.full(keys, NOWHERE, dtype=np.int64),
        first=ring(destinations, keys, salt=1),
        second=ring(destinations, keys, salt=2),
        offsets=np.zeros(keys + 1, dtype=np.int64),
        members=np.empty(0, dtype=np.int64),
        standby=np.full(keys, NOWHERE, dtype=np.int64),
        costs=costs,
        load=np.zeros(destinations),
        reuse=np.zeros(destinations),
        answers=np.zeros(1),
        history=History(
            time=np.zeros(HISTORY_ROWS),
            at=np.zeros(HISTORY_ROWS, dtype=np.int64),
            cost=np.zeros(HISTORY_ROWS),
            span=np.zeros(2, dtype=np.int64),
        ),
        stale=Stale(np.full(1, -np.inf), counts, counts.copy()),
    )


def _scrambled(seed: int) -> int:
    """Return a state that is never 0 and differs for neighbouring seeds."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
