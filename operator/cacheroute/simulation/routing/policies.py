"""The policies, compiled. Each returns a destination that is up, or NOWHERE where none is.

Sources: CacheRoute (arXiv 2608.19677) section 4 for flat, sticky, chwbl and the plan; A Year in LLM Serving
(arXiv 2608.13573) section 7 for round_robin, load_first, user_sticky, cache_first and production.
"""

import numpy as np

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.routing.chance import below, uniform
from cacheroute.simulation.routing.view import NOWHERE, Memory, Request, View

FEW = 3
"""Destinations that count as the least loaded."""
SLACK = 1.25
"""CHWBL: no destination has more than this times its fair share of the requests in flight."""
NEAR_REQUESTS = 2
"""Production: holders of the prefix with at most so many requests more than the least loaded are taken."""
SKIP = 0.05
"""Production: share of requests that are routed by load only."""


@compiled
def flat(memory: Memory, view: View) -> int:
    """Take the one with fewer requests in flight of two distinct random destinations."""
    one = _random_up(memory, view, NOWHERE)
    two = _random_up(memory, view, one)
    if two == NOWHERE or view.running[one] <= view.running[two]:
        return one
    return two


@compiled
def _random_up(memory: Memory, view: View, but: int) -> int:
    size = view.up.size
    start = below(memory.random, size)
    for step in range(size):
        r = (start + step) % size
        if view.up[r] and r != but:
            return r
    return NOWHERE


@compiled
def round_robin(memory: Memory, view: View) -> int:
    """Take request i to destination i mod R; the next one that is up."""
    size = view.up.size
    for step in range(size):
        r = (memory.turn[0] + step) % size
        if view.up[r]:
            return int(r)
    return NOWHERE


@compiled
def load_first(memory: Memory, view: View) -> int:
    """Take one of the few destinations with the least tokens in flight, by chance."""
    few = np.full(FEW, NOWHERE, dtype=np.int64)
    found = 0
    for r in range(view.up.size):
        if not view.up[r]:
            continue
        place = found
        while place > 0 and view.tokens[r] < view.tokens[few[place - 1]]:
            if place < FEW:
                few[place] = few[place - 1]
            place -= 1
        if place < FEW:
            few[place] = r
            found = min(found + 1, FEW)
    return int(few[below(memory.random, found)]) if found else NOWHERE


@compiled
def user_sticky(memory: Memory, view: View, request: Request) -> int:
    """Take the destination that the key's first request reached; the least loaded for the first."""
    home = memory.home[request.key]
    if home == NOWHERE or not view.up[home]:
        home = load_first(memory, view)
        memory.home[request.key] = home
    return int(home)


@compiled
def cache_first(memory: Memory, view: View) -> int:
    """Take the destination with the most of the prompt in its cache, the least loaded of equals."""
    best = NOWHERE
    for r in range(view.up.size):
        if not view.up[r] or view.match[r] == 0:
            continue
        more = best == NOWHERE or view.match[r] > view.match[best]
        if more or (view.match[r] == view.match[best] and view.tokens[r] < view.tokens[best]):
            best = r
    return best if best != NOWHERE else load_first(memory, view)


@compiled
def production(memory: Memory, view: View) -> int:
    """Take, of the destinations with nearly the fewest requests, the one with the most of the prompt in its cache."""
    least = NOWHERE
    for r in range(view.up.size):
        if view.up[r] and (least == NOWHERE or view.running[r] < view.running[least]):
            least = r
    if least == NOWHERE or uniform(memory.random) < SKIP:
        return least
    best = least
    for r in range(view.up.size):
        near = view.up[r] and view.running[r] <= view.running[least] + NEAR_REQUESTS
        if near and view.match[r] > view.match[best]:
            best = r
    return best


@compiled
def sticky(memory: Memory, view: View, request: Request) -> int:
    """Take the first destination on the key's way around the ring."""
    owner = memory.first.owner
    start = memory.first.start[request.key]
    for step in range(owner.size):
        r = owner[(start + step) % owner.size]
        if view.up[r]:
            return int(r)
    return NOWHERE


@compiled
def chwbl(memory: Memory, view: View, request: Request) -> int:
    """Walk the ring to the first destination below the bound; the first one where all are above."""
    owner, total, up = memory.first.owner, 0, 0
    for r in range(view.up.size):
        if view.up[r]:
            total += view.running[r]
            up += 1
    if up == 0:
        return NOWHERE
    bound = SLACK * (total + 1) / up
    start, first = memory.first.start[request.key], NOWHERE
    for step in range(owner.size):
        r = int(owner[(start + step) % owner.size])
        if not view.up[r]:
            continue
        if first == NOWHERE:
            first = r
        if view.running[r] + 1 <= bound:
            return r
    return first


@compiled
def planned(memory: Memory, view: View, request: Request) -> int:
    """Take the member of the key's destinations with the fewest requests, then its standby; flat for cold keys."""
    best = NOWHERE
    for at in range(memory.offsets[request.key], memory.offsets[request.key + 1]):
        r = int(memory.members[at])
        if r >= 0 and view.up[r] and (best == NOWHERE or view.running[r] < view.running[best]):
            best = r
    if best != NOWHERE:
        return best
    standby = int(memory.standby[request.key])
    return standby if standby != NOWHERE and view.up[standby] else flat(memory, view)
