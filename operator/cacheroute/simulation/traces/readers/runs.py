"""Parquet files of requests whose prompts are runs of blocks: Mooncake's traces, and sessions of coding agents.

Columns: t, in_tok, out_tok, run_start, run_len; session_derived, or session with its own clock and block ids.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.traces.readers.blocks import block_size, runs
from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.readers.parquet import Batch, batches, metadata
from cacheroute.simulation.traces.requests import Requests, Runs

COLUMNS = ("t", "in_tok", "out_tok", "run_start", "run_len")
_MORE = ("session_derived", "session", "model", "ttft", "api_time")
_PART_ROWS = 4096
"""Rows have hundreds of runs."""
_SEED = 1
_SESSIONS = 10_000_000
_IDS_OF_SESSION = 2**24
"""Most block ids of one session, where they are the session's own."""


def own_clocks(path: str) -> bool:
    """Tell whether each session has its own clock and its own block ids."""
    return metadata(path).get("hash_scope", "").startswith("local")


def read_runs(path: str, options: ReadOptions, words: Vocabulary) -> Iterator[Requests]:
    """Yield the requests; sessions that have their own clocks start at random, in their order.

    Raises:
        TraceFileError: the file cannot be used.
    """
    size, local = block_size(path), own_clocks(path)
    starts = _Starts(options.session_gap) if local else None
    for batch in batches(path, (*COLUMNS, *_MORE), len(COLUMNS), options, _PART_ROWS):
        session = _sessions(batch, local=local)
        time = batch.rows.times("t", batch.frame["t"])
        found = runs(batch, "in_tok", size)
        if starts is not None and session is not None:
            time = time + starts.of(session)
            found = _apart(batch, found, session)
        columns = Columns(
            time=time,
            prompt=batch.column("in_tok"),
            output=batch.column("out_tok"),
            duration=batch.maybe("api_time"),
            ttft=batch.maybe("ttft"),
            model=batch.maybe("model"),
            session=session,
            runs=found,
        )
        yield requests(batch.rows, columns, words)


def _sessions(batch: Batch, *, local: bool) -> NDArray[np.int64] | None:
    column = batch.maybe("session") or batch.maybe("session_derived")
    if column is None:
        if local:
            raise TraceFileError(f"{batch.rows.name}: has no column session, but block ids of sessions")
        return None
    numbers = batch.rows.floats(*column, _SESSIONS)
    if np.isnan(numbers).any():
        raise batch.rows.complaint(int(np.argmax(np.isnan(numbers))), column[0], "is missing")
    return numbers.astype(np.int64)


def _apart(batch: Batch, found: Runs, session: NDArray[np.int64]) -> Runs:
    """Give each session block ids of its own."""
    owner = np.repeat(np.arange(session.size), np.diff(found.offsets))
    high = found.start + found.length > _IDS_OF_SESSION
    if high.any():
        raise batch.rows.complaint(int(owner[np.argmax(high)]), "run_start", f"is above {_IDS_OF_SESSION:,}")
    return Runs(found.offsets, found.start + session[owner] * _IDS_OF_SESSION, found.length)


class _Starts:
    """Made-up starts of sessions: a Poisson process, the same for the same gap."""

    def __init__(self, gap: float) -> None:
        self._gap, self._random = gap, np.random.default_rng(_SEED)
        self._starts = np.zeros(1)

    def of(self, session: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return float64[N], when each session starts."""
        lacking = int(session.max(initial=0)) + 1 - self._starts.size
        if lacking > 0:
            more = self._starts[-1] + np.cumsum(self._random.exponential(self._gap, lacking))
            self._starts = np.concatenate((self._starts, more))
        return self._starts[session]
