"""Requests as they come out of a file, part by part; what readers yield."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.traces.trace import UNKNOWN

MAX_NAMES = 2_000_000
MAX_NAME_LENGTH = 512


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The blocks of N prompts, as runs of consecutive ids.

    Attributes:
        offsets: int64[N+1], request i has the runs offsets[i]:offsets[i+1].
        start: int64[R], first id of a run.
        length: int64[R], ids in it, >= 1.
    """

    offsets: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def take(self, order: NDArray[np.int64]) -> "Runs":
        """Return the runs of the requests with these numbers."""
        counts = np.diff(self.offsets)[order]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        picked = np.repeat(self.offsets[order] - offsets[:-1], counts) + np.arange(offsets[-1])
        return Runs(offsets, self.start[picked], self.length[picked])

    def ids(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all block ids, and the offsets of each request's."""
        ends = np.concatenate(([0], np.cumsum(self.length)))
        ids = np.repeat(self.start - ends[:-1], self.length) + np.arange(ends[-1])
        return ids, ends[self.offsets]


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """N requests of one file.

    Attributes:
        time: float64[N], seconds since the epoch, or since the file's own beginning.
        prompt: int64[N], prompt tokens, >= 1.
        output: int64[N], output tokens, >= 0.
        key: int32[N], number of the key's name, or UNKNOWN.
        model: int32[N], number of the model's name, or UNKNOWN.
        endpoint: int32[N], number of the API endpoint's name, or UNKNOWN.
        session: int64[N], equal within a conversation, or UNKNOWN.
        turn: int64[N], place in the session, from 0.
        prefix: int64[N], tokens of the prompt that the session's turn before left behind; 0 for its first.
        duration: float64[N], seconds, or NaN.
        ttft: float64[N], seconds, or NaN.
        cached: int64[N], prompt tokens found in the engine's cache, or UNKNOWN.
        row: int64[N], where in the file.
        runs: blocks of the prompts, None where they are not known.
    """

    time: NDArray[np.float64]
    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    key: NDArray[np.int32]
    model: NDArray[np.int32]
    endpoint: NDArray[np.int32]
    session: NDArray[np.int64]
    turn: NDArray[np.int64]
    prefix: NDArray[np.int64]
    duration: NDArray[np.float64]
    ttft: NDArray[np.float64]
    cached: NDArray[np.int64]
    row: NDArray[np.int64]
    runs: Runs | None = None

    @property
    def size(self) -> int:
        """Number of requests, N."""
        return int(self.time.size)

    def take(self, order: NDArray[np.int64]) -> "Requests":
        """Return the requests with these numbers, in this order."""
        picked = {name: getattr(self, name)[order] for name in COLUMNS}
        return Requests(**picked, runs=self.runs.take(order) if self.runs else None)

    def linked(
        self, session: NDArray[np.int64], turn: NDArray[np.int64], prefix: NDArray[np.int64]
    ) -> "Requests":
        """Return the same requests with their sessions."""
        return replace(self, session=session, turn=turn, prefix=prefix)


COLUMNS = tuple(one.name for one in fields(Requests) if one.name != "runs")


def join(parts: Sequence[Requests]) -> Requests:
    """Return the requests of all parts; at least one is given."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([getattr(one, name) for one in parts]) for name in COLUMNS}
    runs = [one.runs for one in parts if one.runs is not None]
    return Requests(**columns, runs=_join_runs(runs) if len(runs) == len(parts) else None)


def _join_runs(parts: Sequence[Runs]) -> Runs:
    counts = np.concatenate([np.diff(one.offsets) for one in parts])
    return Runs(
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([one.start for one in parts]),
        np.concatenate([one.length for one in parts]),
    )


class Names:
    """Numbers for names, in order of appearance; no name, or an empty one, is UNKNOWN."""

    def __init__(self, limit: int = MAX_NAMES) -> None:
        self._limit = limit
        self._numbers: dict[str | None, int] = {None: UNKNOWN, "": UNKNOWN}
        self.texts: list[str] = []

    def numbers(
        self, texts: Sequence[str | None], complain: Callable[[int, str], Exception]
    ) -> NDArray[np.int32]:
        """Return int32[N], the numbers of names.

        Args:
            texts: N names.
            complain: returns the error for the name at an index.

        Raises:
            Exception: what ``complain`` returns, where a name is too long or there are too many.
        """
        for text in dict.fromkeys(texts):
            if text not in self._numbers:
                self._add(text, texts, complain)
        return np.fromiter(map(self._numbers.__getitem__, texts), np.int32, len(texts))

    def _add(
        self, text: str | None, texts: Sequence[str | None], complain: Callable[[int, str], Exception]
    ) -> None:
        name = text or ""
        if len(name) > MAX_NAME_LENGTH:
            raise complain(
                texts.index(text), f"has {len(name):,} characters, at most {MAX_NAME_LENGTH} are names"
            )
        if len(self.texts) == self._limit:
            raise complain(
                texts.index(text), f"is the {self._limit + 1:,}th different name; is this the right column?"
            )
        self._numbers[text] = len(self.texts)
        self.texts.append(name)
