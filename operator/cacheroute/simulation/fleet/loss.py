"""A destination that dies, and one that comes back with empty caches."""

from dataclasses import dataclass

import numpy as np

from cacheroute.simulation.fleet.kernel import send
from cacheroute.simulation.fleet.pool import clear
from cacheroute.simulation.fleet.state import NONE, State
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.routing.view import Memory, View
from cacheroute.simulation.struct import pointer


@dataclass(frozen=True, slots=True)
class Loss:
    """A destination dies and another takes its place.

    Attributes:
        time: when, seconds of the trace's clock.
        destination: which.
        seconds: until the replacement takes requests.
        notice: how long before that it takes no new requests, as a pod that drains does, seconds.
    """

    time: float
    destination: int
    seconds: float
    notice: float = 0.0


def lose(policy: Policy, memory: Memory, view: View, state: State, r: int, now: float) -> None:
    """End destination ``r``: requests without a first token are sent elsewhere, as a gateway does; others are cut."""
    inside = _inside(state, r, now)
    view.up[r] = False
    for column in (view.running, view.tokens, view.prefill, view.cached, view.used):
        column[r] = 0
    engines = state.engines
    for queue in (engines.arriving, engines.waiting):
        queue.first[r] = queue.last[r] = NONE
    engines.runs[r] = engines.chunks[r] = 0
    engines.step_ends[r] = np.inf
    clear(pointer(state.pools), r)
    for i in inside:
        _again(policy, memory, view, state, i, now)


def join(view: View, state: State, r: int) -> None:
    """Let destination ``r`` take requests; its caches are empty."""
    clear(pointer(state.pools), r)
    view.up[r] = True


def _inside(state: State, r: int, now: float) -> list[int]:
    """Return the requests that the destination has not answered completely, in order of arrival."""
    done = state.done
    open_ = (done.destination == r) & ~(done.finished <= now) & (state.work.arrival <= now)
    cut = open_ & ~np.isnan(done.first_token) & np.isnan(done.finished)
    waits = open_ & np.isnan(done.first_token) & ~np.isnan(state.live.queued)
    done.finished[cut] = np.inf
    return [int(i) for i in np.flatnonzero(waits)]


def _again(policy: Policy, memory: Memory, view: View, state: State, i: int, now: float) -> None:
    live = state.live
    live.computed[i] = live.generated[i] = live.held[i] = 0
    state.done.preemptions[i] = 0
    send(policy.value, pointer(memory), pointer(view), pointer(state), i, now)
