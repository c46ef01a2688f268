"""The year-long trace of A Year in LLM Serving (github.com/HarvardMadSys/chutes_workload): one Parquet file.

Points in time are elapsed from 1970-01-01. A user is (user_id, rehash_round). Of its functions, those with text.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.columns import Floats, Rows
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.readers.parquet import Batch, batches
from cacheroute.simulation.traces.requests import Requests

COLUMNS = ("function_name", "chute_id", "user_id", "started_at", "it", "ot")
_MORE = ("rehash_round", "completed_at", "ct", "ttft")
FUNCTIONS = ("chat", "chat_stream", "completion", "completion_stream")


def read_year(path: str, options: ReadOptions, words: Vocabulary) -> Iterator[Requests]:
    """Yield the requests of FUNCTIONS that have prompt tokens.

    Raises:
        TraceFileError: the file cannot be used.
    """
    for whole in batches(path, (*COLUMNS, *_MORE), len(COLUMNS), options):
        batch = _with_text(whole)
        words.left_out += whole.frame.height - batch.frame.height
        time = batch.rows.times("started_at", batch.frame["started_at"])
        columns = Columns(
            time=time,
            prompt=batch.column("it"),
            output=batch.column("ot"),
            cached=batch.maybe("ct"),
            duration=("completed_at", pl.Series(_durations(batch, time))),
            ttft=batch.maybe("ttft"),
            key=("user_id", _users(batch)),
            model=batch.column("chute_id"),
            endpoint=batch.column("function_name"),
        )
        yield requests(batch.rows, columns, words)


def _with_text(batch: Batch) -> Batch:
    """Leave out other functions, and requests without prompt tokens."""
    names = pl.Series(batch.rows.texts(*batch.column("function_name")), dtype=pl.String)
    kept = names.is_in(FUNCTIONS).fill_null(value=False) & batch.frame["it"].is_not_null()
    chosen = Batch(batch.rows.name, 0, batch.frame.filter(kept))
    chosen.rows = Rows(batch.rows.name, batch.rows.row[kept.to_numpy()])
    return chosen


def _users(batch: Batch) -> pl.Series:
    """Name users as their id and round; ids are hashed anew in each round."""
    user = pl.Series("user_id", batch.rows.texts(*batch.column("user_id")), dtype=pl.String)
    rounds = batch.maybe("rehash_round")
    if rounds is None:
        return user
    text = pl.Series(batch.rows.texts(*rounds), dtype=pl.String)
    return (
        pl.DataFrame({"u": user, "r": text})
        .select(pl.when(pl.col("r").is_null()).then(pl.col("u")).otherwise(pl.format("{}#{}", "u", "r")))
        .to_series()
    )


def _durations(batch: Batch, time: Floats) -> Floats:
    """Return seconds from start to end, NaN where a request did not end; clocks may differ a little."""
    ended = batch.maybe("completed_at")
    if ended is None:
        return np.full(time.size, np.nan)
    known = ended[1].is_not_null().to_numpy()
    seconds = np.full(time.size, np.nan)
    rows = Rows(batch.rows.name, batch.rows.row[known])
    seconds[known] = np.maximum(
        rows.times("completed_at", ended[1].filter(pl.Series(known))) - time[known], 0.0
    )
    return seconds
