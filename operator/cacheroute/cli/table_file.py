"""CSV and Parquet files as columns of checked values; every complaint names file, row and column."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import NoDataError, PanicException, PolarsError

from cacheroute.cli.table_format import TableFormat
from cacheroute.cli.table_source import STDIN, source
from cacheroute.controllers.file_world import InputFileError
from cacheroute.simulation.traces.readers.silence import silenced

MAX_ROWS = 100_000_000
_ROW = "row of the file"
_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table with at least one row, unless it has no column that is wanted.

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
    content = source(path, name)
    if (form or _format(path)) is TableFormat.PARQUET:
        table = TableFile(name, _parquet(content, name, set(wanted)))
    else:
        table = TableFile(name, _csv(content, name, set(wanted)))
    if table.columns and table.frame.height == 0:
        raise InputFileError(f"{name}: has no rows")
    return table


def _format(path: str) -> TableFormat:
    suffix = Path(path).suffix.lower()
    if path == STDIN or suffix in _SUFFIXES:
        return TableFormat(_SUFFIXES.get(suffix, TableFormat.CSV))
    raise InputFileError(f"{path}: ends neither in .csv nor in .parquet; say which it is by --format")


def _parquet(content: Path | io.BytesIO, name: str, wanted: set[str]) -> pl.DataFrame:
    """Read columns; polars panics on some broken files and tells so on standard error itself."""
    try:
        with silenced():
            return _parquet_columns(content, name, wanted)
    except (PolarsError, PanicException) as error:
        raise InputFileError(f"{name}: is no Parquet file, or a broken one: {_line(error)}") from error


def _parquet_columns(content: Path | io.BytesIO, name: str, wanted: set[str]) -> pl.DataFrame:
    """Read no more rows than are allowed, rather than ask for their number, which may be a wrong one."""
    lazy = pl.scan_parquet(content, glob=False)
    present = [column for column in lazy.collect_schema().names() if column in wanted]
    frame = lazy.select(present).head(MAX_ROWS + 1).collect() if present else pl.DataFrame()
    if frame.height > MAX_ROWS:
        raise InputFileError(f"{name}: has over {MAX_ROWS:,} rows; add them up to key and rate first")
    return frame.with_row_index(_ROW, offset=1)


def _csv(content: Path | io.BytesIO, name: str, wanted: set[str]) -> pl.DataFrame:
    """Read texts only, so that a wrong number can be named; blank lines are left out."""
    try:
        frame = pl.read_csv(content, infer_schema=False, glob=False)
    except NoDataError as error:
        raise InputFileError(f"{name}: is empty") from error
    except PolarsError as error:
        raise InputFileError(
            _broken_csv(content, name) or f"{name}: is no CSV file: {_line(error)}"
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


def _broken_csv(content: Path | io.BytesIO, name: str) -> str | None:
    """Say which row of a CSV file cannot be read; None where Python's reader finds nothing wrong."""
    raw = content.read_bytes() if isinstance(content, Path) else content.getvalue()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
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


def _line(error: BaseException) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:200]
