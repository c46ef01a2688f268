"""Files with one JSON object a line."""

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from cacheroute.simulation.traces.readers.columns import Rows
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.lines import lines

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Objects that follow each other, and their rows."""

    rows: Rows
    records: list[Record]

    def column(self, path: str) -> list[object]:
        """Return the members that a path of names, joined by dots, leads to; None where there is none."""
        values: list[object] = list(self.records)
        for name in path.split("."):
            values = [value.get(name) if type(value) is dict else None for value in values]
        return values


def records(path: str, told: Callable[[float], None]) -> Iterator[Records]:
    """Yield the objects of a file; empty lines are left out.

    Raises:
        TraceFileError: the file cannot be read, or a line is no JSON object.
    """
    for first, block in lines(path, told):
        found, rows = [], []
        with _uncollected():
            for row, line in enumerate(block, first):
                if line and not line.isspace():
                    found.append(_record(line, path, row))
                    rows.append(row)
        if found:
            yield Records(Rows(path, np.array(rows, dtype=np.int64)), found)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no cycles: JSON has none, and looking takes a quarter of the time of reading."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _record(line: bytes, path: str, row: int) -> Record:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise TraceFileError(f"{path}:{row}: column {error.colno}: is no JSON: {error.msg}") from error
    if type(value) is not dict:
        raise TraceFileError(f"{path}:{row}: must be a JSON object, it is {type(value).__name__}")
    return value
