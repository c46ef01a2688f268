"""How much of the prompts was, or could be, found in a prefix cache."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.describe.gaps import known
from cacheroute.simulation.describe.sums import Sums
from cacheroute.simulation.traces.requests import Requests, Runs
from cacheroute.simulation.traces.trace import UNKNOWN

_BINS = 100
_SLICE = 2_000
"""Requests whose blocks are written out at a time."""
LOW, HIGH = 0.05, 0.90
"""Hit ratios up to LOW are misses, from HIGH on hits; between them is a trough where ratios are bimodal."""


class Hits:
    """Hit ratios that the serving engine reported."""

    def __init__(self) -> None:
        self._bins, self._octaves, self._octave_prompt, self._octave_cached = Sums(), Sums(), Sums(), Sums()
        self._moments = np.zeros(5)
        self._low = self._high = 0
        self._prompt = self._cached = 0.0

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        told = part.cached != UNKNOWN
        prompt, cached = part.prompt[told], part.cached[told]
        ratio = cached / prompt
        self._bins.add(np.minimum(ratio * _BINS, _BINS - 1).astype(np.int64))
        self._moments += np.array([float((ratio**power).sum()) for power in range(5)])
        self._low += int((ratio <= LOW).sum())
        self._high += int((ratio >= HIGH).sum())
        self._prompt += float(prompt.sum())
        self._cached += float(cached.sum())
        octave = (np.frexp(prompt.astype(np.float64))[1] - 1).astype(np.int64)
        for sums, amount in (
            (self._octaves, None), (self._octave_prompt, prompt), (self._octave_cached, cached),
        ):  # fmt: skip
            sums.add(octave, amount)

    def document(self) -> dict[str, Any] | None:
        """Return the figures, None where no cached tokens are known."""
        count = float(self._moments[0])
        if not count:
            return None
        middle = 1 - (self._low + self._high) / count
        return {
            "requests": int(count),
            "token_hit": self._cached / self._prompt,
            "mean_request_hit": float(self._moments[1] / count),
            "miss_share": self._low / count,
            "hit_share": self._high / count,
            "between_share": middle,
            "bimodality_coefficient": known(bimodality(self._moments)),
            "histogram": self._bins.upto(_BINS).astype(np.int64).tolist(),
            "by_prompt": self._by_prompt(),
        }

    def _by_prompt(self) -> list[dict[str, Any]]:
        requests, prompt, cached = (
            one.upto(32) for one in (self._octaves, self._octave_prompt, self._octave_cached)
        )
        return [
            {
                "from_tokens": 1 << at,
                "requests": int(requests[at]),
                "token_hit": float(cached[at] / prompt[at]),
            }
            for at in np.flatnonzero(requests).tolist()
        ]


def bimodality(moments: NDArray[np.float64]) -> float:
    """Return Sarle's coefficient, (skewness^2 + 1) / kurtosis, of raw moment sums; above 5/9 two modes are likely."""
    m = moments / moments[0]
    variance = m[2] - m[1] ** 2
    if variance <= 0:
        return float("nan")
    third = m[3] - 3 * m[1] * m[2] + 2 * m[1] ** 3
    fourth = m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4
    return float((third**2 / variance**3 + 1) / (fourth / variance**2))


class SessionFigures:
    """Turns of sessions, and how much of a prompt the turn before has left behind."""

    def __init__(self) -> None:
        self._turns = Sums()
        self._prompt = self._prefix = 0.0

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        own = part.session != UNKNOWN
        self._turns.add(part.turn[own])
        self._prompt += float(part.prompt[own].sum())
        self._prefix += float(part.prefix[own].sum())

    def document(self, *, own: bool) -> dict[str, Any] | None:
        """Return the figures, None where there are no sessions; ``own`` tells that the trace names them."""
        reached = self._turns.upto(self._turns.size + 1)
        sessions = float(reached[0])
        if not sessions:
            return None
        ended = np.cumsum(reached[:-1] - reached[1:])
        p50, p90, p99 = (
            int(np.searchsorted(ended, share * sessions - 1e-9)) + 1 for share in (0.5, 0.9, 0.99)
        )
        return {
            "count": int(sessions),
            "reconstructed": not own,
            "single_turn_share": float(ended[0] / sessions),
            "turns": {
                "mean": float(reached.sum() / sessions), "p50": p50, "p90": p90, "p99": p99,
                "max": int(np.flatnonzero(reached)[-1]) + 1,
            },
            "structural_reuse_ratio": self._prefix / self._prompt,
        }  # fmt: skip


class BlockReuse:
    """Leading blocks of a prompt that some request had before: what a cache without bounds would hit."""

    def __init__(self, block: int) -> None:
        self._block = block
        self._known = np.empty(0, dtype=np.int64)
        self._prompt = self._hit = 0.0

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        if self._block and part.runs is not None:
            for start in range(0, part.size, _SLICE):
                rows = np.arange(start, min(start + _SLICE, part.size))
                self._add(part.runs.take(rows), part.prompt[rows])

    def _add(self, runs: Runs, prompt: NDArray[np.int64]) -> None:
        ids, offsets = runs.ids()
        new = _first_of_each(ids) & ~np.isin(ids, self._known)
        self._known = np.union1d(self._known, ids[new])
        leading = _leading(~new, offsets)
        self._hit += float(np.minimum(leading * self._block, prompt).sum())
        self._prompt += float(prompt.sum())

    def document(self) -> dict[str, Any] | None:
        """Return the figures, None where blocks are not known."""
        if not self._prompt:
            return None
        return {
            "block": self._block,
            "distinct_blocks": int(self._known.size),
            "unbounded_hit": self._hit / self._prompt,
        }


def _first_of_each(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    first = np.zeros(ids.size, dtype=np.bool_)
    first[np.unique(ids, return_index=True)[1]] = True
    return first


def _leading(old: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many blocks at the start of each request are old."""
    ends = np.append(np.flatnonzero(~old), old.size)
    first_new = ends[np.searchsorted(ends, offsets[:-1])]
    leading: NDArray[np.int64] = np.minimum(first_new, offsets[1:]) - offsets[:-1]
    return leading
