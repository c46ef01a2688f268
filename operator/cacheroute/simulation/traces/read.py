"""A whole trace in memory, and a trace as a file of our own."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError
from polars.io.plugins import register_io_source

from cacheroute.simulation.traces.linked import linked
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.open import Reading, open_trace
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.requests import Names, Requests, join
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace

_SCHEMA = {
    "time": pl.Float64,
    "prompt_tokens": pl.Int32,
    "output_tokens": pl.Int32,
    "cached_tokens": pl.Int32,
    "key": pl.String,
    "model": pl.String,
    "endpoint": pl.String,
    "session": pl.Int64,
    "duration": pl.Float64,
    "ttft": pl.Float64,
}
_RUNS = {"run_start": pl.List(pl.Int64), "run_len": pl.List(pl.Int32)}
_ROW_GROUP = 262_144


def read_trace(path: str, options: ReadOptions | None = None) -> Trace:
    """Read a file of any format.

    Raises:
        TraceFileError: it cannot be used; the message names file, row and column.
    """
    reading = open_trace(path, options or ReadOptions())
    whole = join(list(linked(reading.parts)))
    start = float(whole.time[0])
    return Trace(
        arrival=whole.time - start,
        prompt=whole.prompt,
        output=whole.output,
        keys=tuple(reading.words.keys.texts),
        key=whole.key,
        models=tuple(reading.words.models.texts),
        model=whole.model,
        session=whole.session,
        duration=whole.duration,
        ttft=whole.ttft,
        cached=whole.cached,
        start=start if reading.calendar else 0.0,
        blocks=_blocks(whole, reading.block),
        reconstructed=not reading.words.sessions and bool((whole.session != UNKNOWN).any()),
    )


def _blocks(whole: Requests, size: int) -> Blocks | None:
    if whole.runs is None or not size:
        return None
    ids, offsets = whole.runs.ids()
    return Blocks(size, offsets, ids)


def write_trace(reading: Reading, path: Path) -> None:
    """Write a trace as Parquet that ``read_trace`` reads; the file is there whole or not at all.

    Raises:
        TraceFileError: the trace cannot be used, or the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    known = {"cacheroute_trace": "1", "calendar": "yes" if reading.calendar else "no"}
    if reading.block:
        known["block_size"] = str(reading.block)
    rows = _Rows(reading)
    if not rows.own_sessions:
        known["sessions"] = "reconstructed"
    try:
        with temporary.open("wb") as file:  # by its name, polars would make it even after an error was raised
            rows.lazy().sink_parquet(file, row_group_size=_ROW_GROUP, metadata=known)
        temporary.replace(path)
    except (PolarsError, OSError) as error:
        raise rows.wrong or TraceFileError(f"{path}: cannot be written: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _reason(error: PolarsError | OSError) -> object:
    return (error.strerror if isinstance(error, OSError) else None) or error


class _Rows:
    """The rows of a trace as polars asks for them; what goes wrong meanwhile is kept, since polars wraps it."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        first = next(reading.parts)  # a file's metadata are written before its rows
        self._parts = chain((first,), reading.parts)
        self.own_sessions = reading.words.sessions
        self._schema = _SCHEMA | (_RUNS if reading.block else {})
        self.wrong: TraceFileError | None = None

    def lazy(self) -> pl.LazyFrame:
        """Return the rows, read when they are wanted."""
        return register_io_source(self._frames, schema=self._schema)

    def _frames(
        self, columns: list[str] | None, _predicate: pl.Expr | None, _rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        try:
            for part in linked(self._parts):
                frame = self._frame(part)
                yield frame if columns is None else frame.select(columns)
        except TraceFileError as error:
            self.wrong = error
            raise

    def _frame(self, part: Requests) -> pl.DataFrame:
        words = self._reading.words
        columns: dict[str, object] = {
            "time": part.time,
            "prompt_tokens": part.prompt,
            "output_tokens": part.output,
            "cached_tokens": _known(part.cached),
            "key": _named(words.keys, part.key),
            "model": _named(words.models, part.model),
            "endpoint": _named(words.endpoints, part.endpoint),
            "session": _known(part.session),
            "duration": pl.Series(part.duration).fill_nan(None),
            "ttft": pl.Series(part.ttft).fill_nan(None),
        }
        if part.runs is not None:
            columns |= {"run_start": _lists(part, part.runs.start), "run_len": _lists(part, part.runs.length)}
        return pl.DataFrame(columns).cast(self._schema)  # type: ignore[arg-type]  # dtypes may be classes


def _known(values: np.ndarray) -> pl.Series:
    return pl.Series(values).set(pl.Series(values == UNKNOWN), None)


def _named(names: Names, numbers: np.ndarray) -> pl.Series:
    texts = pl.Series(names.texts, dtype=pl.String)
    return texts.gather(_known(numbers))


def _lists(part: Requests, values: np.ndarray) -> pl.Series:
    runs = part.runs
    assert runs is not None  # noqa: S101  the caller has seen it
    owner = np.repeat(np.arange(part.size), np.diff(runs.offsets))
    grouped = pl.DataFrame({"owner": owner, "v": values}).group_by("owner", maintain_order=True).agg("v")
    everyone = pl.DataFrame({"owner": np.arange(part.size)}).join(
        grouped, on="owner", how="left", maintain_order="left"
    )
    return everyone["v"]
