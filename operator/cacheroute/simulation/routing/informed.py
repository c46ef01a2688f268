"""Policies that weigh cache and load request by request, as their authors describe them; all steps are ours.

``preble`` (E2, Srivatsa et al. 2024) leaves out the copying of prefixes whose queueing time doubles: the view has no
queueing times. ``llmd`` and ``sglang`` are the default scorers of llm-d's endpoint picker and SGLang's router.
"""

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.routing.chance import below
from cacheroute.simulation.routing.history import remember
from cacheroute.simulation.routing.view import NOWHERE, Memory, Request, View

IMBALANCE = 1.5
"""Preble: above this ratio of the highest to the lowest load, requests go to the lowest."""
STALE_SECONDS = 0.05
"""llm-d: age of the load figures."""
APART, RATIO = 32, 1.1
"""SGLang: absolute and relative difference of the queues above which the shortest is taken."""


@compiled
def dualmap(memory: Memory, view: View, request: Request) -> int:
    """Take, of a key's two destinations, the one with more of the prompt in its cache unless that one is slow."""
    one = int(memory.first.owner[memory.first.start[request.key]])
    two = int(memory.second.owner[memory.second.start[request.key]])
    if one == two:
        two = (one + 1) % view.up.size
    if not view.up[one] or not view.up[two]:
        return one if view.up[one] else (two if view.up[two] else _least(view))
    if view.match[two] > view.match[one]:
        one, two = two, one
    first, second = _wait(memory, view, request, one), _wait(memory, view, request, two)
    if view.match[one] > view.match[two] and first <= memory.costs.objective / 2:
        return one
    if first != second:
        return one if first < second else two
    if view.running[one] != view.running[two]:
        return one if view.running[one] < view.running[two] else two
    return one if below(memory.random, 2) == 0 else two


@compiled
def _wait(memory: Memory, view: View, request: Request, r: int) -> float:
    """Return the expected time to the first token, seconds."""
    return float((view.prefill[r] + request.prompt - view.match[r]) * memory.costs.prompt_token)


@compiled
def _least(view: View) -> int:
    best = NOWHERE
    for r in range(view.up.size):
        if view.up[r] and (best == NOWHERE or view.running[r] < view.running[best]):
            best = r
    return best


@compiled
def preble(memory: Memory, view: View, request: Request) -> int:
    """Exploit the deepest match if it is most of the prompt, else explore where the request costs least."""
    low, high, deepest = NOWHERE, NOWHERE, 0
    for r in range(view.up.size):
        if not view.up[r]:
            continue
        deepest = max(deepest, view.match[r])
        if low == NOWHERE or memory.load[r] < memory.load[low]:
            low = r
        if high == NOWHERE or memory.load[r] > memory.load[high]:
            high = r
    if low == NOWHERE:
        return NOWHERE
    best = low
    exploits = 2 * deepest > request.prompt
    if not exploits or memory.load[high] <= IMBALANCE * memory.load[low]:
        best = _cheapest(memory, view, request, deepest if exploits else 0)
    remember(memory, view, request, best)
    return best


@compiled
def _cheapest(memory: Memory, view: View, request: Request, least_match: int) -> int:
    """Return the destination where load, evictions and prefill cost least, of those that match so much."""
    best, lowest = NOWHERE, 0.0
    for r in range(view.up.size):
        if not view.up[r] or view.match[r] < least_match:
            continue
        missing = request.prompt - view.match[r]
        evicted = max(0, view.cached[r] + missing - view.capacity[r])
        cost = memory.load[r] + (missing + evicted * memory.reuse[r]) * memory.costs.prompt_token
        if best == NOWHERE or cost < lowest:
            best, lowest = r, cost
    return best


@compiled
def lmetric(memory: Memory, view: View, request: Request) -> int:
    """Take the least product of prompt tokens to be computed and requests in the batch."""
    start, best, lowest = below(memory.random, view.up.size), NOWHERE, 0
    for step in range(view.up.size):
        r = (start + step) % view.up.size
        if view.up[r]:
            value = (view.prefill[r] + request.prompt - view.match[r]) * (view.running[r] + 1)
            if best == NOWHERE or value < lowest:
                best, lowest = r, value
    return best


@compiled
def llmd(memory: Memory, view: View, request: Request) -> int:
    """Take the highest of 2 * match + queue + free cache, each scaled to 0..1 over the destinations."""
    if request.time - memory.stale.time[0] >= STALE_SECONDS:
        memory.stale.time[0] = request.time
        memory.stale.running[:] = view.running
        memory.stale.used[:] = view.used
    longest, shortest = memory.stale.running.max(), memory.stale.running.min()
    fullest, emptiest = memory.stale.used.max(), memory.stale.used.min()
    deepest, shallowest = view.match.max(), view.match.min()
    start, best, highest = below(memory.random, view.up.size), NOWHERE, 0.0
    for step in range(view.up.size):
        r = (start + step) % view.up.size
        if not view.up[r]:
            continue
        score = (fullest - memory.stale.used[r]) / max(1, fullest - emptiest)
        score += (longest - memory.stale.running[r]) / max(1, longest - shortest)
        score += 2.0 * (view.match[r] - shallowest) / max(1, deepest - shallowest)
        if best == NOWHERE or score > highest:
            best, highest = r, score
    return best


@compiled
def sglang(view: View, request: Request) -> int:
    """Take the shortest queue where they differ much, else the best match, or the smallest tree if that is poor."""
    shortest, longest, matching, smallest = NOWHERE, NOWHERE, NOWHERE, NOWHERE
    for r in range(view.up.size):
        if not view.up[r]:
            continue
        if shortest == NOWHERE or view.running[r] < view.running[shortest]:
            shortest = r
        if longest == NOWHERE or view.running[r] > view.running[longest]:
            longest = r
        if matching == NOWHERE or view.match[r] > view.match[matching]:
            matching = r
        if smallest == NOWHERE or view.cached[r] < view.cached[smallest]:
            smallest = r
    if shortest == NOWHERE:
        return NOWHERE
    most, least = view.running[longest], view.running[shortest]
    if most - least > APART and most > RATIO * least:
        return shortest
    return matching if 2 * view.match[matching] > request.prompt else smallest
