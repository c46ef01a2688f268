"""The loop over requests, compiled."""

import heapq
from typing import NamedTuple, cast

import numpy as np
from numba import types
from numba.typed import List
from numpy.typing import NDArray

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.replay.caches import Caches, clear_matches, mark_matches, store
from cacheroute.simulation.routing.registry import choose
from cacheroute.simulation.routing.view import NOWHERE, Memory, Request, View
from cacheroute.simulation.struct import struct


@struct
class Columns(NamedTuple):
    """A trace as the kernel reads it; keys and sessions are dense."""

    arrival: NDArray[np.float64]
    key: NDArray[np.int64]
    session: NDArray[np.int64]
    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    duration: NDArray[np.float64]


@struct
class Routed(NamedTuple):
    """What became of each request."""

    destination: NDArray[np.int64]
    """int64[N], or NOWHERE."""
    hit: NDArray[np.int64]
    """int64[N], prompt tokens found in the cache."""


Flight = list[tuple[float, int, int]]
"""Heap of the requests in flight: end, destination, index."""


def in_flight() -> Flight:
    """Return an empty heap of the type that the kernel uses."""
    entry = types.Tuple((types.float64, types.int64, types.int64))
    return cast("Flight", List.empty_list(entry))


@compiled
def run(
    which: int,
    memory: Memory,
    view: View,
    caches: Caches,
    columns: Columns,
    routed: Routed,
    flight: Flight,
    begin: int,
    end: int,
) -> None:
    """Route the requests ``begin`` to ``end`` - 1; everything that is changed is in the arguments."""
    for i in range(begin, end):
        now = columns.arrival[i]
        while len(flight) > 0 and flight[0][0] <= now:
            _, at, done = heapq.heappop(flight)
            _leave(view, at, columns, routed, done)
        session, prompt = columns.session[i], columns.prompt[i]
        mark_matches(caches, view, session, prompt)
        request = Request(now, columns.key[i], session, prompt, columns.output[i])
        r = choose(which, memory, view, request)
        routed.destination[i] = r
        if r != NOWHERE:
            routed.hit[i] = view.match[r]
        clear_matches(caches, view, session)
        if r != NOWHERE:
            _enter(view, r, columns, routed, i)
            heapq.heappush(flight, (now + columns.duration[i], r, i))
            store(caches, view, r, session, prompt + columns.output[i])


@compiled
def _enter(view: View, r: int, columns: Columns, routed: Routed, i: int) -> None:
    view.running[r] += 1
    view.tokens[r] += columns.prompt[i] + columns.output[i]
    view.used[r] = view.tokens[r]
    view.prefill[r] += columns.prompt[i] - routed.hit[i]


@compiled
def _leave(view: View, r: int, columns: Columns, routed: Routed, i: int) -> None:
    view.running[r] -= 1
    view.tokens[r] -= columns.prompt[i] + columns.output[i]
    view.used[r] = view.tokens[r]
    view.prefill[r] -= columns.prompt[i] - routed.hit[i]
