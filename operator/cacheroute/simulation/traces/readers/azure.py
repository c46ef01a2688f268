"""Azure's traces of LLM inference (github.com/Azure/AzurePublicDataset, 2023 and 2024): CSV, gzipped or not."""

import io
from collections.abc import Iterator

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.columns import Rows
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.lines import Lines, lines
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.requests import Requests

LAYOUTS = (("TIMESTAMP", "ContextTokens", "GeneratedTokens"), ("t", "in_tok", "out_tok"))
"""Time, prompt and output tokens: as published, and in seconds since the start."""


def read_azure(path: str, options: ReadOptions, words: Vocabulary) -> Iterator[Requests]:
    """Yield the requests.

    Raises:
        TraceFileError: the file cannot be used.
    """
    header: list[str] | None = None
    for part in lines(path, options.told):
        if header is None:
            header = azure_header(path, part.lines[0])
            part = Lines(part.first + 1, part.lines[1:])  # noqa: PLW2901  what is left of it
        if any(part.lines):
            yield _requests(path, part, header, words)


def azure_header(path: str, line: bytes) -> list[str]:
    """Read the first line.

    Raises:
        TraceFileError: it does not name the columns of one of LAYOUTS.
    """
    names = [name.strip().strip('"') for name in line.decode("utf-8", errors="replace").split(",")]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TraceFileError(f"{path}:1: has two columns {twice[:40]!r}")
    if not any(set(layout) <= set(names) for layout in LAYOUTS):
        wanted = " or ".join(",".join(layout) for layout in LAYOUTS)
        raise TraceFileError(f"{path}:1: has not the columns {wanted}")
    return names


def _requests(path: str, part: Lines, header: list[str], words: Vocabulary) -> Requests:
    present = [at for at, line in enumerate(part.lines) if line.strip()]
    rows = Rows(path, np.array(present, dtype=np.int64) + part.first)
    frame = _frame(rows, [part.lines[at] for at in present], header)
    time, prompt, output = next(layout for layout in LAYOUTS if set(layout) <= set(header))
    columns = Columns(
        time=rows.times(time, frame[time]), prompt=(prompt, frame[prompt]), output=(output, frame[output])
    )
    return requests(rows, columns, words)


def _frame(rows: Rows, body: list[bytes], header: list[str]) -> pl.DataFrame:
    """Parse lines; quotes have no meaning in these files."""
    for at, line in enumerate(body):
        if line.count(b",") != len(header) - 1:
            raise TraceFileError(
                f"{rows.name}:{rows.row[at]}: has {line.count(b',') + 1} columns, the first row has {len(header)}"
            )
    text = b"\n".join(line.rstrip(b"\r") for line in body)
    try:
        return pl.read_csv(
            io.BytesIO(text), has_header=False, new_columns=header, infer_schema=False, quote_char=None
        )
    except PolarsError as error:
        raise TraceFileError(
            f"{rows.name}:{rows.row[0]}: is no CSV at or after this row: {_line(error)}"
        ) from error


def _line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:200]
