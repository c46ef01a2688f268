"""Parquet files of any size in parts of bounded size."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from cacheroute.simulation.traces.readers.columns import Rows
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.lines import check_file
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.readers.silence import silenced

PART_ROWS = 65_536


class Batch:
    """Some rows that follow each other."""

    def __init__(self, name: str, first: int, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.rows = Rows(name, np.arange(first, first + frame.height, dtype=np.int64))

    def column(self, name: str) -> tuple[str, pl.Series]:
        """Return a column that is there, with its name."""
        return name, self.frame[name]

    def maybe(self, name: str) -> tuple[str, pl.Series] | None:
        """Return a column with its name, None where the file has none."""
        return self.column(name) if name in self.frame.columns else None


def schema(path: str) -> dict[str, pl.DataType]:
    """Return the columns of a file and their types.

    Raises:
        TraceFileError: it is no Parquet file.
    """
    check_file(path)
    with _told(path):
        return dict(pl.scan_parquet(path, glob=False).collect_schema())


def metadata(path: str) -> dict[str, str]:
    """Return what the file says about itself.

    Raises:
        TraceFileError: it is no Parquet file.
    """
    with _told(path):
        return pl.read_parquet_metadata(path)


def batches(
    path: str, wanted: tuple[str, ...], needed: int, options: ReadOptions, part_rows: int = PART_ROWS
) -> Iterator[Batch]:
    """Yield the ``wanted`` columns, of which the first ``needed`` must be there.

    Raises:
        TraceFileError: a column is missing, or the file is broken.
    """
    present = schema(path)
    missing = [name for name in wanted[:needed] if name not in present]
    if missing:
        raise TraceFileError(f"{path}: has no column {missing[0]}")
    query = pl.scan_parquet(path, glob=False).select([name for name in wanted if name in present])
    with _told(path):
        total = max(int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()), 1)
        parts = iter(query.collect_batches(chunk_size=part_rows, maintain_order=True))
    row = 1
    while (frame := _next(path, parts)) is not None:
        for part in frame.iter_slices(part_rows):
            yield Batch(path, row, part)
            row += part.height
            options.told(min(row / total, 1.0))


def _next(path: str, parts: Iterator[pl.DataFrame]) -> pl.DataFrame | None:
    with _told(path):
        return next(parts, None)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn what polars raises, panics included, into one line; it tells of panics on standard error by itself."""
    try:
        with silenced():
            yield
    except (PolarsError, PanicException, OSError) as error:
        line = str(error).strip().split("\n", maxsplit=1)[0][:200]
        raise TraceFileError(f"{path}: is no Parquet file, or a broken one: {line}") from error
