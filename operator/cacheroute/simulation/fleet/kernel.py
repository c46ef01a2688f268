"""Engines through time, and requests through the fleet, compiled."""

import numpy as np

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.fleet.scheduler import begin_step, match, pop, push, release_all
from cacheroute.simulation.fleet.state import NONE, State
from cacheroute.simulation.routing.registry import Policy, choose
from cacheroute.simulation.routing.view import NOWHERE, Memory, Request, View

_BLIND = (
    Policy.FLAT.value,
    Policy.ROUND_ROBIN.value,
    Policy.LOAD_FIRST.value,
    Policy.USER_STICKY.value,
    Policy.STICKY.value,
    Policy.CHWBL.value,
    Policy.PLANNED.value,
)
"""Policies that do not look at caches: nothing is looked up for them."""


@compiled
def run(which: int, memory: Memory, view: View, state: State, begin: int, end: int) -> None:
    """Let the requests ``begin`` to ``end`` - 1 arrive."""
    for i in range(begin, end):
        advance(state, view, state.work.arrival[i])
        send(which, memory, view, state, i, state.work.arrival[i])


@compiled
def send(which: int, memory: Memory, view: View, state: State, i: int, now: float) -> None:
    """Route a request; one that no destination can take stays without one."""
    work, live = state.work, state.live
    if which not in _BLIND:
        for r in range(view.up.size):
            view.match[r] = state.limits.block * match(
                state, r, i, (work.prompt[i] - 1) // state.limits.block
            )
    request = Request(now, work.key[i], work.session[i], work.prompt[i], work.output[i])
    r = choose(which, memory, view, request)
    state.done.destination[i] = r
    if r == NOWHERE:
        return
    live.expected[i] = work.prompt[i] - (view.match[r] if which not in _BLIND else 0)
    view.running[r] += 1
    view.tokens[r] += work.prompt[i] + work.output[i]
    view.prefill[r] += live.expected[i]
    live.queued[i] = now + state.timing.before_queue
    push(state.engines.arriving, live, r, i)


@compiled
def advance(state: State, view: View, now: float) -> None:
    """Let everything happen in all engines that is due up to ``now``."""
    for r in range(view.up.size):
        due = _next_event(state, r)
        while due <= now:
            _happen(state, view, r, due)
            due = _next_event(state, r)


@compiled
def _next_event(state: State, r: int) -> float:
    due = state.engines.step_ends[r]
    first = state.engines.arriving.first[r]
    if first != NONE and state.live.queued[first] < due:
        due = state.live.queued[first]
    return float(due)


@compiled
def _happen(state: State, view: View, r: int, now: float) -> None:
    engines = state.engines
    if engines.chunks[r] > 0 and engines.step_ends[r] <= now:
        _end_step(state, view, r, now)
    while engines.arriving.first[r] != NONE and state.live.queued[engines.arriving.first[r]] <= now:
        push(engines.waiting, state.live, r, pop(engines.arriving, state.live, r))
    if engines.chunks[r] == 0:
        begin_step(state, r, now)
        blocks = state.pools.users.shape[1]
        view.used[r] = (blocks - state.pools.idle[r]) * state.limits.block


@compiled
def _end_step(state: State, view: View, r: int, now: float) -> None:
    engines, live, work, done = state.engines, state.live, state.work, state.done
    ended = False
    for position in range(engines.chunks[r]):
        i = engines.chunk_of[r, position]
        live.computed[i] += engines.chunk[r, position]
        if live.computed[i] != work.prompt[i] + live.generated[i]:
            continue
        live.generated[i] += 1
        if live.generated[i] == 1:
            done.first_token[i] = now
            view.prefill[r] -= live.expected[i]
        if live.generated[i] >= work.output[i]:
            delay = state.timing.at_end + state.timing.per_output_token * live.generated[i]
            done.finished[i] = now + delay
            view.running[r] -= 1
            view.tokens[r] -= work.prompt[i] + work.output[i]
            ended = True
    engines.chunks[r] = 0
    engines.step_ends[r] = np.inf
    if ended:
        _retire(state, r)


@compiled
def _retire(state: State, r: int) -> None:
    """Take the requests that are complete out of the running ones."""
    engines, kept = state.engines, 0
    for position in range(engines.runs[r]):
        i = engines.running[r, position]
        if state.live.generated[i] >= state.work.output[i]:
            release_all(state, r, i)
    for position in range(engines.runs[r]):
        i = engines.running[r, position]
        if state.live.generated[i] < state.work.output[i]:
            engines.running[r, kept] = i
            kept += 1
    engines.runs[r] = kept
