"""CSV and Parquet files as columns of checked values; every complaint names file, row and column."""

import csv
import io
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import NoDataError, PolarsError

from cacheroute.cli.table_format import TableFormat
from cacheroute.controllers.file_world import InputFileError

MAX_FILE_BYTES = 2 * 1024**3
MAX_ROWS = 200_000_000
STDIN = "-"
_ROW = "row of the file"
_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table with at least one row.

    Attributes:
        name: of the file, as messages say it.
        frame: its columns, and the row of the file that each record stands in.
    """

    name: str
    frame: pl.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(name for name in self.frame.columns if name != _ROW)

    def complaint(self, at: int, column: str, what: str) -> InputFileError:
        """Return what is wrong with the value at record ``at``, from 0, of ``column``."""
        return InputFileError(f"{self.name}:{self.row(at)}: {column}: {what}")

    def row(self, at: int) -> int:
        """Return the row of the file that record ``at`` stands in; a CSV file's first row has the names."""
        return int(self.frame[_ROW][at])

    def texts(self, column: str) -> list[str]:
        """Return a column of texts; what is missing is empty.

        Raises:
            InputFileError: it holds something else.
        """
        values = self.frame[column]
        if not (values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            raise InputFileError(f"{self.name}: {column}: must be text, it is {values.dtype}")
        return values.cast(pl.String).fill_null("").to_list()

    def numbers(self, column: str, *, least: float = -np.inf) -> NDArray[np.float64]:
        """Return a column of finite numbers, float64[N]; points in time are seconds since the epoch.

        Raises:
            InputFileError: a value is missing, no number, not finite or below ``least``.
        """
        given = self.frame[column]
        values = self._plain(given, column)
        bad = (
            values.is_null()
            | ~values.is_finite().fill_null(value=False)
            | (values < least).fill_null(value=True)
        )
        if bad.any():
            at = bad.arg_true()[0]
            raise self.complaint(at, column, _wrong(given[at], values[at], least))
        return values.to_numpy()

    def _plain(self, values: pl.Series, column: str) -> pl.Series:
        if values.dtype == pl.String:
            return values.str.strip_chars().cast(pl.Float64, strict=False)
        if values.dtype in (pl.Datetime, pl.Date):
            return values.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
        if values.dtype.is_numeric() or values.dtype == pl.Null:
            return values.cast(pl.Float64, strict=False)
        raise InputFileError(f"{self.name}: {column}: must be numbers, it is {values.dtype}")


def read_table(path: str, form: TableFormat | None, wanted: Iterable[str]) -> TableFile:
    """Read the ``wanted`` columns that a file has; ``-`` is standard input, CSV unless ``form`` says otherwise.

    Raises:
        InputFileError: the file cannot be used.
    """
    name = "standard input" if path == STDIN else path
    source = _source(path, name)
    if (form or _format(path)) is TableFormat.PARQUET:
        table = TableFile(name, _parquet(source, name, set(wanted)))
    else:
        table = TableFile(name, _csv(source, name, set(wanted)))
    if table.frame.height == 0:
        raise InputFileError(f"{name}: has no rows")
    return table


def _format(path: str) -> TableFormat:
    suffix = Path(path).suffix.lower()
    if path == STDIN or suffix in _SUFFIXES:
        return TableFormat(_SUFFIXES.get(suffix, TableFormat.CSV))
    raise InputFileError(f"{path}: ends neither in .csv nor in .parquet; say which it is by --format")


def _source(path: str, name: str) -> Path | io.BytesIO:
    """Return a file as it is, and what comes through a pipe in memory."""
    try:
        if path == STDIN:
            return _piped(sys.stdin.buffer, name)
        status = os.stat(path)  # noqa: PTH116 - Path.stat is the same; the path is a text here
        if stat.S_ISDIR(status.st_mode):
            raise InputFileError(f"{name}: is a directory")
        _check_size(status.st_size, name)
        if stat.S_ISREG(status.st_mode):
            Path(path).open("rb").close()
            return Path(path)
        with Path(path).open("rb") as pipe:
            return _piped(pipe, name)
    except (OSError, ValueError) as error:
        if isinstance(error, InputFileError):
            raise
        raise InputFileError(
            f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def _piped(stream: IO[bytes], name: str) -> io.BytesIO:
    content = stream.read(MAX_FILE_BYTES + 1)
    _check_size(len(content), name)
    return io.BytesIO(content)


def _check_size(size: int, name: str) -> None:
    if size > MAX_FILE_BYTES:
        raise InputFileError(
            f"{name}: is over {MAX_FILE_BYTES >> 30} GiB; add it up to columns key and rate first"
        )


def _parquet(source: Path | io.BytesIO, name: str, wanted: set[str]) -> pl.DataFrame:
    try:
        lazy = pl.scan_parquet(source, glob=False)
        present = [column for column in lazy.collect_schema().names() if column in wanted]
        rows = int(lazy.select(pl.len()).collect().item())
        if rows > MAX_ROWS:
            raise InputFileError(
                f"{name}: has {rows} rows, over {MAX_ROWS}; add them up to key and rate first"
            )
        return lazy.select(present).collect().with_row_index(_ROW, offset=1)
    except PolarsError as error:
        raise InputFileError(f"{name}: is no Parquet file: {_line(error)}") from error


def _csv(source: Path | io.BytesIO, name: str, wanted: set[str]) -> pl.DataFrame:
    """Read texts only, so that a wrong number can be named; blank lines are left out."""
    try:
        frame = pl.read_csv(source, infer_schema=False, glob=False)
    except NoDataError as error:
        raise InputFileError(f"{name}: is empty") from error
    except PolarsError as error:
        raise InputFileError(
            _broken_csv(source, name) or f"{name}: is no CSV file: {_line(error)}"
        ) from error
    frame = frame.rename({column: column.strip() for column in _once(frame.columns, name)})
    columns = [column for column in frame.columns if column in wanted]
    numbered = frame.select(columns).with_row_index(_ROW, offset=2)
    return numbered.filter(~pl.all_horizontal(pl.col(columns).is_null())) if columns else numbered


def _once(columns: list[str], name: str) -> list[str]:
    names = [column.strip().partition("_duplicated_")[0] for column in columns]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise InputFileError(f"{name}:1: has two columns {twice!r}")
    return columns


def _broken_csv(source: Path | io.BytesIO, name: str) -> str | None:
    """Say which row of a CSV file cannot be read; None where Python's reader finds nothing wrong."""
    content = source.read_bytes() if isinstance(source, Path) else source.getvalue()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        return f"{name}:{row}: is not UTF-8 text"
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        width = len(next(rows))
        long = next((len(row) for row in rows if len(row) > width), None)
    except csv.Error as error:
        return f"{name}:{rows.line_num}: is not CSV: {error}"
    return f"{name}:{rows.line_num}: has {long} columns, the first row has {width}" if long else None


def _wrong(given: object, value: float | None, least: float) -> str:
    if given is None or (isinstance(given, str) and not given.strip()):
        return "is missing"
    if value is None:
        return f"{str(given)[:40]!r} is not a number"
    if not np.isfinite(value):
        return f"{given} is not finite"
    return f"{given} is {'negative' if least == 0 else f'below {least:g}'}"


def _line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:200]
