"""Values of a file as checked arrays."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.trace import UNKNOWN

Values = list[object] | pl.Series
"""A column as a reader finds it: of JSON values, or of a table."""
Floats = NDArray[np.float64]

MAX_TOKENS = 100_000_000
MAX_SECONDS = 10_000_000.0
"""Longest time that a request may have taken."""
LAST_TIME = 32_503_680_000.0
"""The year 3000."""
_ABSENT = ("", "-")
"""Texts that logs write where there is no value."""
_SHOWN = 40
"""Characters of a wrong value in a message."""
_NUMBERS = {int, float, type(None)}


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Which file, and which of its rows, columns belong to.

    Attributes:
        name: of the file, as messages say it.
        row: int64[N], row of each value, from 1.
    """

    name: str
    row: NDArray[np.int64]

    def complaint(self, at: int, column: str, what: str) -> TraceFileError:
        """Return what is wrong with the value at index ``at`` of a column."""
        return TraceFileError(f"{self.name}:{self.row[at]}: {column}: {what}")

    def complains(self, column: str) -> Callable[[int, str], TraceFileError]:
        """Return ``complaint`` of one column."""
        return lambda at, what: self.complaint(at, column, what)

    def floats(self, column: str, values: Values, most: float, *, scale: float = 1.0) -> Floats:
        """Return numbers >= 0 times ``scale``, NaN where there is none.

        Raises:
            TraceFileError: a value is no number, not finite, negative or above ``most``.
        """
        numbers = self._numbers(column, values) * scale
        wrong = (numbers < 0) | (numbers > most)
        if wrong.any():
            at = int(np.argmax(wrong))
            bound = "is negative" if numbers[at] < 0 else f"is above {most / scale:,.0f}"
            raise self.complaint(at, column, f"{_shown(values[at])} {bound}")
        return numbers

    def tokens(self, column: str, values: Values) -> NDArray[np.int64]:
        """Return counts of tokens, UNKNOWN where there is none.

        Raises:
            TraceFileError: a value is no whole number from 0 to MAX_TOKENS.
        """
        numbers = self.floats(column, values, MAX_TOKENS)
        broken = numbers != np.floor(numbers)
        broken &= ~np.isnan(numbers)
        if broken.any():
            at = int(np.argmax(broken))
            raise self.complaint(at, column, f"{_shown(values[at])} is no whole number")
        return np.where(np.isnan(numbers), UNKNOWN, numbers).astype(np.int64)

    def times(self, column: str, values: Values, unit: float | None = 1.0) -> Floats:
        """Return points in time, seconds; texts are ISO 8601, UTC where they name no zone.

        Args:
            column: its name.
            values: N numbers, texts or points in time; none may be missing.
            unit: seconds of 1; None tells s, ms, us and ns since the epoch apart by their size.

        Raises:
            TraceFileError: a value is missing or no point in time between 1970 and 3000.
        """
        if isinstance(values, pl.Series) and values.dtype in (pl.Datetime, pl.Date):
            numbers = (values.cast(pl.Datetime("us")).dt.epoch("us") / 1e6).to_numpy()
        else:
            numbers = self._numbers(column, values, _moment)
            numbers = numbers / _units(numbers) if unit is None else numbers * unit
        wrong = ~((numbers >= 0) & (numbers <= LAST_TIME))
        if wrong.any():
            at = int(np.argmax(wrong))
            gone = np.isnan(numbers[at])
            raise self.complaint(
                at, column, "is missing" if gone else f"{_shown(values[at])} is no time between 1970 and 3000"
            )
        return numbers

    def texts(self, column: str, values: Values) -> list[str | None]:
        """Return texts, None where there is none; whole numbers are taken as texts.

        Raises:
            TraceFileError: a value is something else.
        """
        if isinstance(values, pl.Series):
            dtype = values.dtype
            if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
                raise TraceFileError(f"{self.name}: {column}: must be text, it is {dtype}")
            return values.cast(pl.String).to_list()
        if not set(map(type, values)) <= {str, type(None)}:
            values = [self._text(at, column, value) for at, value in enumerate(values)]
        return [None if text in _ABSENT else text for text in values]  # type: ignore[misc]  # they are texts now

    def _text(self, at: int, column: str, value: object) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.complaint(at, column, f"{_shown(value)} is no text")

    def _numbers(
        self, column: str, values: Values, read: "Callable[[str], float | None] | None" = None
    ) -> Floats:
        """Return numbers as they stand there, NaN where there is none."""
        if isinstance(values, pl.Series):
            return self._series(column, values, read)
        if set(map(type, values)) <= _NUMBERS:
            try:
                return np.array(values, dtype=np.float64)
            except OverflowError:
                pass
        if read is _moment and (moments := _moments(values)) is not None:
            return moments
        return np.array(
            [self._number(at, column, value, read) for at, value in enumerate(values)], np.float64
        )

    def _series(self, column: str, values: pl.Series, read: "Callable[[str], float | None] | None") -> Floats:
        if values.dtype.is_numeric() or values.dtype == pl.Null:
            numbers = values.cast(pl.Float64).to_numpy()
            endless = np.isinf(numbers)
            if endless.any():
                at = int(np.argmax(endless))
                raise self.complaint(at, column, f"{values[at]} is not finite")
            return numbers
        if values.dtype == pl.String:
            return self._numbers(column, values.to_list(), read)
        raise TraceFileError(f"{self.name}: {column}: must be numbers, it is {values.dtype}")

    def _number(
        self, at: int, column: str, value: object, read: "Callable[[str], float | None] | None"
    ) -> float:
        if value is None or value in _ABSENT:
            return np.nan
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise self.complaint(at, column, f"{_shown(value)} is no number")
        number = read(value) if read and isinstance(value, str) else _float(value)
        if number is None:
            raise self.complaint(at, column, f"{_shown(value)} is no {'point in time' if read else 'number'}")
        if not np.isfinite(number):
            raise self.complaint(at, column, f"{_shown(value)} is not finite")
        return number


def _float(value: float | str) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except ValueError:
        return None


def _moment(text: str) -> float | None:
    """Read ISO 8601, or a number."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return _float(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def _moments(values: Sequence[object]) -> Floats | None:
    """Read ISO 8601 with time zones, None where a value is anything else."""
    try:
        moments = list(map(dt.datetime.fromisoformat, values))  # type: ignore[arg-type]  # others are told by the error
    except (TypeError, ValueError):
        return None
    if any(moment.tzinfo is None for moment in moments):
        return None
    return np.array([moment.timestamp() for moment in moments], dtype=np.float64)


def _units(numbers: Floats) -> Floats:
    """Return how many of the unit of a time since the epoch are one second: it is after 1973 in any unit."""
    thousands = np.floor(np.log10(np.maximum(numbers, 1.0)) - 8) // 3
    units: Floats = 1000.0 ** np.clip(np.nan_to_num(thousands), 0, 3)
    return units


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
