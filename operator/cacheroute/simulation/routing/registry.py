"""Policies by name."""

from enum import IntEnum

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.routing import informed, policies
from cacheroute.simulation.routing.view import Memory, Request, View


class Policy(IntEnum):
    """Every policy; compiled code knows them by these numbers, users by the names."""

    FLAT = 0
    ROUND_ROBIN = 1
    LOAD_FIRST = 2
    USER_STICKY = 3
    CACHE_FIRST = 4
    PRODUCTION = 5
    STICKY = 6
    CHWBL = 7
    DUALMAP = 8
    PREBLE = 9
    LMETRIC = 10
    LLMD = 11
    SGLANG = 12
    PLANNED = 13


def policy(name: str) -> Policy:
    """Return the policy with that name.

    Raises:
        SimulationError: there is none.
    """
    known = {one.name.lower(): one for one in Policy}
    if name not in known:
        raise SimulationError(f"no policy is called {name!r}; there are {', '.join(sorted(known))}")
    return known[name]


@compiled
def choose(which: int, memory: Memory, view: View, request: Request) -> int:  # noqa: C901, PLR0911, PLR0912 - a table of policies
    """Return the destination of a request by the policy ``which``; NOWHERE where no destination is up."""
    memory.turn[0] += 1
    if which == Policy.FLAT:
        return policies.flat(memory, view)
    if which == Policy.ROUND_ROBIN:
        return policies.round_robin(memory, view)
    if which == Policy.LOAD_FIRST:
        return policies.load_first(memory, view)
    if which == Policy.USER_STICKY:
        return policies.user_sticky(memory, view, request)
    if which == Policy.CACHE_FIRST:
        return policies.cache_first(memory, view)
    if which == Policy.PRODUCTION:
        return policies.production(memory, view)
    if which == Policy.STICKY:
        return policies.sticky(memory, view, request)
    if which == Policy.CHWBL:
        return policies.chwbl(memory, view, request)
    if which == Policy.DUALMAP:
        return informed.dualmap(memory, view, request)
    if which == Policy.PREBLE:
        return informed.preble(memory, view, request)
    if which == Policy.LMETRIC:
        return informed.lmetric(memory, view, request)
    if which == Policy.LLMD:
        return informed.llmd(memory, view, request)
    if which == Policy.SGLANG:
        return informed.sglang(view, request)
    return policies.planned(memory, view, request)
