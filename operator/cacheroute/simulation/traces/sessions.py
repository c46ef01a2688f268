"""Sessions from logs that have none, as A Year in LLM Serving (arXiv 2608.13573), section 6.3.1, reconstructs them.

A request continues an earlier one of the same user, endpoint and model if that one's prompt and answer fit strictly
into its prompt. Of the user's last ten requests that nobody continues yet, the one that fits tightest is taken.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.traces.trace import UNKNOWN

WINDOW = 10
"""How many of a user's requests are looked back at."""


class Sessions(NamedTuple):
    """What each of N requests continues."""

    session: NDArray[np.int64]
    """int64[N], number of its session, in order of their first requests."""
    turn: NDArray[np.int64]
    """int64[N], 0 for the first request of a session."""
    parent: NDArray[np.int64]
    """int64[N], index of the request that it continues, or UNKNOWN."""


def reconstruct(
    user: NDArray[np.int64], kind: NDArray[np.int64], prompt: NDArray[np.int64], output: NDArray[np.int64]
) -> Sessions:
    """Return the sessions of requests that stand in order of arrival.

    Args:
        user: int64[N], equal for requests of one user; UNKNOWN ones continue nothing.
        kind: int64[N], equal for requests of one endpoint and model.
        prompt: int64[N], prompt tokens; below 1 where they are not known: such a request continues nothing.
        output: int64[N], output tokens.
    """
    users, dense = np.unique(user, return_inverse=True)
    size = user.size
    result = Sessions(*(np.full(size, UNKNOWN) for _ in range(3)))
    recent = np.full((users.size, WINDOW), UNKNOWN)
    alone = (user == UNKNOWN) | (prompt < 1)
    _link(dense.astype(np.int64), kind, prompt, output, alone, recent, result)
    return result


@compiled
def _link(
    user: NDArray[np.int64],
    kind: NDArray[np.int64],
    prompt: NDArray[np.int64],
    output: NDArray[np.int64],
    alone: NDArray[np.bool_],
    recent: NDArray[np.int64],
    result: Sessions,
) -> None:
    """Fill ``result``; ``recent`` holds each user's last requests, all of them count, also those continued."""
    continued = np.zeros(user.size, dtype=np.bool_)
    seen = np.zeros(recent.shape[0], dtype=np.int64)
    sessions = 0
    for b in range(user.size):
        parent, tightest = UNKNOWN, 0
        window = recent[user[b]]
        for a in window:
            if alone[b] or a == UNKNOWN or continued[a] or kind[a] != kind[b]:
                continue
            gap = prompt[b] - prompt[a] - output[a]
            if gap > 0 and (parent == UNKNOWN or gap < tightest):
                parent, tightest = a, gap
        if parent == UNKNOWN:
            result.session[b], result.turn[b] = sessions, 0
            sessions += 1
        else:
            continued[parent] = True
            result.session[b], result.turn[b] = result.session[parent], result.turn[parent] + 1
            result.parent[b] = parent
        if not alone[b]:
            window[seen[user[b]] % WINDOW] = b
            seen[user[b]] += 1
