"""Rates of the keys from a file: one row for each key, or one for each request."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.cli.observed import UNKEYED, Arrivals
from cacheroute.cli.table_file import TableFile, read_table
from cacheroute.cli.table_format import TableFormat
from cacheroute.controllers.file_world import InputFileError
from cacheroute.domain.keys import KEY_PUNCTUATION, canonical_key
from cacheroute.domain.rates import Rates

KEY, RATE, TIME, TOKENS = "key", "rate", "time", "prompt_tokens"
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RatesFile:
    """What a file says.

    Attributes:
        rates: of the keys.
        arrivals: the single requests, None where the file has rates.
        refused: keys that cannot be planned and count as unkeyed, in one line; empty where there are none.
    """

    rates: Rates
    arrivals: Arrivals | None
    refused: str


@dataclass(frozen=True, slots=True, eq=False)
class _Keys:
    """Keys of a column.

    Attributes:
        names: canonical, bytewise order.
        code: int64[N], index in ``names`` of each row; UNKEYED where the key is empty or cannot be planned.
        refused: bool[N], rows whose key is there and cannot be planned.
    """

    names: tuple[str, ...]
    code: _Ints
    refused: NDArray[np.bool_]


def read_rates(path: str, form: TableFormat | None, *, max_key_length: int, now: float) -> RatesFile:
    """Read columns key and rate, or key and time, and prompt_tokens where it is there.

    Args:
        path: of a CSV or Parquet file; ``-`` is standard input.
        form: how it is written; None goes by the name.
        max_key_length: longer keys cannot be planned.
        now: seconds since the epoch; when the rates count as measured.

    Raises:
        InputFileError: the file or one value cannot be used.
    """
    table = read_table(path, form, (KEY, RATE, TIME, TOKENS))
    by_request = _by_request(table)
    raw = table.texts(KEY)
    keys = _keys(raw, max_key_length)
    tokens = table.numbers(TOKENS, least=0.0) if TOKENS in table.columns else None
    if by_request:
        return _from_requests(table, raw, keys, tokens, now)
    _check_unique(table, raw, keys)
    rate = table.numbers(RATE, least=0.0)
    return RatesFile(_rates(keys, rate, tokens, now), None, _refused(table, raw, keys, rate))


def _by_request(table: TableFile) -> bool:
    columns = set(table.columns)
    if KEY not in columns or not columns & {RATE, TIME}:
        missing = KEY if KEY not in columns else f"{RATE} (or {TIME}, with one row for each request)"
        raise InputFileError(f"{table.name}: there is no column {missing}")
    if {RATE, TIME} <= columns:
        raise InputFileError(f"{table.name}: has both columns {RATE} and {TIME}; leave one out")
    return TIME in columns


def _from_requests(
    table: TableFile, raw: list[str], keys: _Keys, tokens: _Floats | None, now: float
) -> RatesFile:
    time = table.numbers(TIME)
    span = float(time.max()) - float(time.min())
    if not (0 < span < np.inf):
        raise InputFileError(
            f"{table.name}: {TIME}: goes from {time.min():g} to {time.max():g}; no rates follow from it"
        )
    each = np.full(time.size, 1.0 / span)
    per_second = tokens / span if tokens is not None else None
    order = np.argsort(time, kind="stable")
    weight = np.ones(time.size) if tokens is None else tokens
    return RatesFile(
        _rates(keys, each, per_second, now),
        Arrivals(time[order], keys.code[order], weight[order]),
        _refused(table, raw, keys, each),
    )


def _keys(raw: list[str], max_length: int) -> _Keys:
    spelled = {one: canonical_key(one, max_length) for one in set(raw)}
    names = tuple(sorted({one for one in spelled.values() if one is not None}))
    index = {name: at for at, name in enumerate(names)}
    code = {one: UNKEYED if name is None else index[name] for one, name in spelled.items()}
    codes = np.fromiter((code[one] for one in raw), dtype=np.int64, count=len(raw))
    given = np.fromiter((one != "" for one in raw), dtype=np.bool_, count=len(raw))
    return _Keys(names, codes, (codes == UNKEYED) & given)


def _check_unique(table: TableFile, raw: list[str], keys: _Keys) -> None:
    """Two rows of one key are a mistake more often than a sum."""
    if len(keys.names) + len(set(_others(raw, keys))) == len(raw):
        return
    first: dict[int | str, int] = {}
    for at, code in enumerate(keys.code.tolist()):
        earlier = first.setdefault(raw[at] if code == UNKEYED else code, at)
        if earlier != at:
            told = f"{raw[at][:40]!r} stands there twice, first in row {table.row(earlier)}"
            raise table.complaint(at, KEY, f"{told}; keys compare without regard to case")


def _others(raw: list[str], keys: _Keys) -> Iterable[str]:
    return (raw[at] for at in np.flatnonzero(keys.code == UNKEYED).tolist())


def _rates(keys: _Keys, rate: _Floats, tokens: _Floats | None, now: float) -> Rates:
    cold = keys.code == UNKEYED
    return Rates(
        keys=keys.names,
        values=_sums(keys, rate),
        unkeyed=float(rate[cold].sum()),
        rejected=float(rate[keys.refused].sum()),
        time=now,
        prompt_tokens=None if tokens is None else _sums(keys, tokens),
        unkeyed_prompt_tokens=0.0 if tokens is None else float(tokens[cold].sum()),
    )


def _sums(keys: _Keys, values: _Floats) -> _Floats:
    known = keys.code != UNKEYED
    sums = np.bincount(keys.code[known], weights=values[known], minlength=len(keys.names))
    return sums.astype(np.float64, copy=False)


def _refused(table: TableFile, raw: list[str], keys: _Keys, rate: _Floats) -> str:
    rows = np.flatnonzero(keys.refused)
    if rows.size == 0:
        return ""
    number, example = len({raw[at] for at in rows.tolist()}), int(rows[0])
    return (
        f"{table.name}: keys that cannot be planned: {number}; their {float(rate[rows].sum()):.4g} requests/s count "
        f"as unkeyed, such as {raw[example][:40]!r} in row {table.row(example)}: keys have ASCII letters, digits and "
        f"{KEY_PUNCTUATION}, up to spec.keys.maxLength"
    )
