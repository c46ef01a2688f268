"""From checked columns to requests; what all readers have in common."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.traces.readers.columns import MAX_SECONDS, Floats, Rows, Values
from cacheroute.simulation.traces.requests import Names, Requests, Runs
from cacheroute.simulation.traces.trace import UNKNOWN


@dataclass(slots=True)
class Vocabulary:
    """The names of one file, and what was left out of it."""

    keys: Names = field(default_factory=Names)
    models: Names = field(default_factory=lambda: Names(100_000))
    endpoints: Names = field(default_factory=lambda: Names(100_000))
    left_out: int = 0
    answers: bool = False
    """Some row tells output tokens."""
    sessions: bool = False
    """Some row tells its session."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of a part as they stand in a file; None where it has none.

    Attributes:
        prompt: a pair: the column's name, and its values; likewise the others.
        units: seconds of 1 in ``duration`` and in ``ttft``.
        optional: rows without prompt tokens are left out; otherwise they are wrong.
    """

    time: Floats
    prompt: tuple[str, Values]
    output: tuple[str, Values] | None = None
    cached: tuple[str, Values] | None = None
    duration: tuple[str, Values] | None = None
    ttft: tuple[str, Values] | None = None
    key: tuple[str, Values] | None = None
    model: tuple[str, Values] | None = None
    endpoint: tuple[str, Values] | None = None
    session: NDArray[np.int64] | None = None
    runs: Runs | None = None
    units: tuple[float, float] = (1.0, 1.0)
    optional: bool = False


def requests(rows: Rows, columns: Columns, words: Vocabulary) -> Requests:
    """Check a part's columns; requests without a prompt are left out and counted.

    Raises:
        TraceFileError: a value cannot be.
    """
    size = rows.row.size
    output = _tokens(rows, columns.output, size, required=False)
    words.answers = words.answers or bool((output != UNKNOWN).any())
    prompt = _tokens(rows, columns.prompt, size, required=not columns.optional)
    made = Requests(
        time=columns.time,
        prompt=prompt,
        output=np.maximum(output, 0),
        key=_numbers(rows, columns.key, words.keys, size),
        model=_numbers(rows, columns.model, words.models, size),
        endpoint=_numbers(rows, columns.endpoint, words.endpoints, size),
        session=np.full(size, UNKNOWN) if columns.session is None else columns.session,
        turn=np.zeros(size, dtype=np.int64),
        prefix=np.zeros(size, dtype=np.int64),
        duration=_seconds(rows, columns.duration, size, columns.units[0]),
        ttft=_seconds(rows, columns.ttft, size, columns.units[1]),
        cached=np.minimum(_tokens(rows, columns.cached, size, required=False), prompt),
        row=rows.row,
        runs=columns.runs,
    )
    kept = prompt >= 1
    words.left_out += int(size - kept.sum())
    return made if kept.all() else made.take(np.flatnonzero(kept))


def _tokens(rows: Rows, column: tuple[str, Values] | None, size: int, *, required: bool) -> NDArray[np.int64]:
    if column is None:
        return np.full(size, UNKNOWN)
    tokens = rows.tokens(*column)
    if required and (tokens == UNKNOWN).any():
        raise rows.complaint(int(np.argmax(tokens == UNKNOWN)), column[0], "is missing")
    return tokens


def _seconds(rows: Rows, column: tuple[str, Values] | None, size: int, unit: float) -> Floats:
    if column is None:
        return np.full(size, np.nan)
    return rows.floats(*column, MAX_SECONDS, scale=unit)


def _numbers(rows: Rows, column: tuple[str, Values] | None, names: Names, size: int) -> NDArray[np.int32]:
    if column is None:
        return np.full(size, UNKNOWN, dtype=np.int32)
    name, values = column
    return names.numbers(rows.texts(name, values), rows.complains(name))
