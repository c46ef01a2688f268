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
    """int64[N], number of the request that it continues, or UNKNOWN."""
    prefix: NDArray[np.int64]
    """int64[N], prompt and output tokens of that request; 0 where there is none."""


class _Recent(NamedTuple):
    """The last requests of U users."""

    number: NDArray[np.int64]
    """int64[U, WINDOW], UNKNOWN where there is none or it is continued."""
    kind: NDArray[np.int64]
    tokens: NDArray[np.int64]
    """Prompt and output."""
    session: NDArray[np.int64]
    turn: NDArray[np.int64]
    seen: NDArray[np.int64]
    """int64[U], requests so far."""
    total: NDArray[np.int64]
    """int64[2], requests and sessions so far, of all."""


class Linker:
    """Reconstructs sessions part by part; it remembers ten requests of each user."""

    def __init__(self) -> None:
        self._recent = _empty(0, np.zeros(2, dtype=np.int64))

    def link(
        self,
        user: NDArray[np.int64],
        kind: NDArray[np.int64],
        prompt: NDArray[np.int64],
        output: NDArray[np.int64],
    ) -> Sessions:
        """Return the sessions of the next requests, in order of arrival.

        Args:
            user: int64[N], number of the user; UNKNOWN ones continue nothing.
            kind: int64[N], equal for requests of one endpoint and model.
            prompt: int64[N], prompt tokens; below 1 where they are not known: such a request continues nothing.
            output: int64[N], output tokens.
        """
        self._grow(int(user.max(initial=UNKNOWN)) + 1)
        session, turn, parent = np.full((3, user.size), UNKNOWN)
        result = Sessions(session, turn, parent, np.zeros(user.size, dtype=np.int64))
        _link(user, kind, prompt, output, self._recent, result)
        return result

    def _grow(self, users: int) -> None:
        known = self._recent.seen.size
        if users > known:
            more = _empty(max(users, 2 * known) - known, self._recent.total)
            pairs = zip(self._recent[:-1], more[:-1], strict=True)
            self._recent = _Recent._make([*map(np.concatenate, pairs), self._recent.total])


def reconstruct(
    user: NDArray[np.int64], kind: NDArray[np.int64], prompt: NDArray[np.int64], output: NDArray[np.int64]
) -> Sessions:
    """Return the sessions of all requests, which stand in order of arrival; ``user`` may be any numbers.

    The arguments are those of ``Linker.link``.
    """
    _, dense = np.unique(user, return_inverse=True)
    numbered = np.where(user == UNKNOWN, UNKNOWN, dense)
    return Linker().link(numbered.astype(np.int64), kind, prompt, output)


def _empty(users: int, total: NDArray[np.int64]) -> _Recent:
    number, kind, tokens, session, turn = (np.full((users, WINDOW), UNKNOWN) for _ in range(5))
    return _Recent(number, kind, tokens, session, turn, np.zeros(users, dtype=np.int64), total)


@compiled
def _link(
    user: NDArray[np.int64],
    kind: NDArray[np.int64],
    prompt: NDArray[np.int64],
    output: NDArray[np.int64],
    recent: _Recent,
    result: Sessions,
) -> None:
    """Fill ``result`` and go on with ``recent``; all of a user's requests count, also those continued."""
    for b in range(user.size):
        u, number = user[b], recent.total[0]
        recent.total[0] += 1
        alone = u == UNKNOWN or prompt[b] < 1
        parent, tightest = UNKNOWN, 0
        if not alone:
            for a in range(WINDOW):
                if recent.number[u, a] == UNKNOWN or recent.kind[u, a] != kind[b]:
                    continue
                gap = prompt[b] - recent.tokens[u, a]
                if gap > 0 and (parent == UNKNOWN or gap < tightest):
                    parent, tightest = a, gap
        if parent == UNKNOWN:
            result.session[b], result.turn[b] = recent.total[1], 0
            recent.total[1] += 1
        else:
            result.session[b], result.turn[b] = recent.session[u, parent], recent.turn[u, parent] + 1
            result.parent[b], result.prefix[b] = recent.number[u, parent], recent.tokens[u, parent]
            recent.number[u, parent] = UNKNOWN
        if not alone:
            at = recent.seen[u] % WINDOW
            recent.number[u, at], recent.kind[u, at] = number, kind[b]
            recent.tokens[u, at] = prompt[b] + output[b]
            recent.session[u, at], recent.turn[u, at] = result.session[b], result.turn[b]
            recent.seen[u] += 1
