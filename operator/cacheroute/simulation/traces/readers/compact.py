"""The project's own Parquet files, which ``write_trace`` writes."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cacheroute.simulation.traces.readers.blocks import STARTS, block_size, runs
from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.readers.parquet import Batch, batches, metadata
from cacheroute.simulation.traces.requests import Requests
from cacheroute.simulation.traces.trace import UNKNOWN

COLUMNS = ("time", "prompt_tokens", "output_tokens")
_MORE = ("cached_tokens", "key", "model", "endpoint", "session", "duration", "ttft", STARTS, "run_len")
_PART_ROWS = 16_384


def has_calendar(path: str) -> bool:
    """Tell whether times are since the epoch."""
    return metadata(path).get("calendar") == "yes"


def has_reconstructed_sessions(path: str) -> bool:
    """Tell whether the file that was converted named no sessions, and they were put together from lengths."""
    return metadata(path).get("sessions") == "reconstructed"


def read_compact(path: str, options: ReadOptions, words: Vocabulary) -> Iterator[Requests]:
    """Yield the requests.

    Raises:
        TraceFileError: the file cannot be used.
    """
    size = None
    for batch in batches(path, (*COLUMNS, *_MORE), len(COLUMNS), options, _PART_ROWS):
        if size is None and STARTS in batch.frame.columns:
            size = block_size(path)
        columns = Columns(
            time=batch.rows.times("time", batch.frame["time"]),
            prompt=batch.column("prompt_tokens"),
            output=batch.column("output_tokens"),
            cached=batch.maybe("cached_tokens"),
            duration=batch.maybe("duration"),
            ttft=batch.maybe("ttft"),
            key=batch.maybe("key"),
            model=batch.maybe("model"),
            endpoint=batch.maybe("endpoint"),
            session=_sessions(batch),
            runs=runs(batch, "prompt_tokens", size) if size else None,
        )
        yield requests(batch.rows, columns, words)


def _sessions(batch: Batch) -> NDArray[np.int64] | None:
    column = batch.maybe("session")
    if column is None:
        return None
    if column[1].dtype != pl.Int64:
        raise TraceFileError(f"{batch.rows.name}: session: must be whole numbers, it is {column[1].dtype}")
    numbers: NDArray[np.int64] = np.maximum(column[1].fill_null(UNKNOWN).to_numpy(), UNKNOWN)
    return numbers
