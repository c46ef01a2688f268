"""Blocks of prompts in Parquet files, as runs of consecutive ids."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.parquet import Batch, metadata
from cacheroute.simulation.traces.requests import Runs

STARTS, LENGTHS = "run_start", "run_len"
_MAX_ID = 2**48
_MAX_BLOCK = 1_048_576


def block_size(path: str) -> int:
    """Return the tokens of a block, which the file's metadata say.

    Raises:
        TraceFileError: they do not.
    """
    text = metadata(path).get("block_size", "")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MAX_BLOCK:
        raise TraceFileError(
            f"{path}: its metadata say no block_size from 1 to {_MAX_BLOCK:,}, but {text[:40]!r}"
        )
    return int(text)


def runs(batch: Batch, prompt: str, size: int) -> Runs:
    """Return the runs of a part; they have no more blocks than the prompt.

    Raises:
        TraceFileError: they cannot be.
    """
    starts, lengths = (_lists(batch, name) for name in (STARTS, LENGTHS))
    counts = _counts(starts)
    _check(batch, STARTS, counts == _counts(lengths), f"has not as many entries as {LENGTHS}")
    offsets = np.concatenate(([0], np.cumsum(counts)))
    start, length = _flat(batch, starts), _flat(batch, lengths)
    owner = np.repeat(np.arange(counts.size), counts)
    _check_each(batch, STARTS, owner, (start >= 0) & (start < _MAX_ID), "must be from 0 to 2^48")
    _check_each(batch, LENGTHS, owner, (length >= 1) & (length < _MAX_ID), "must be at least 1")
    blocks = np.bincount(owner, length, minlength=counts.size)
    most = batch.frame[prompt].cast(pl.Float64, strict=False).fill_null(0.0).to_numpy() / size + 1
    _check(batch, LENGTHS, blocks <= most, f"are more blocks of {size} tokens than {prompt} has")
    return Runs(offsets.astype(np.int64), start, length)


def _lists(batch: Batch, name: str) -> pl.Series:
    lists = batch.frame[name]
    inner = getattr(lists.dtype, "inner", None)
    if inner is None or not inner.is_integer():
        raise TraceFileError(
            f"{batch.rows.name}: {name}: must be lists of whole numbers, it is {lists.dtype}"
        )
    return lists


def _counts(lists: pl.Series) -> NDArray[np.int64]:
    return lists.list.len().fill_null(0).to_numpy().astype(np.int64)


def _flat(batch: Batch, lists: pl.Series) -> NDArray[np.int64]:
    values = lists.filter(lists.list.len() > 0).explode(empty_as_null=False)
    if values.null_count():
        raise TraceFileError(
            f"{batch.rows.name}:{batch.rows.row[0]}: {lists.name}: an entry is missing at or after this row"
        )
    return values.cast(pl.Int64).to_numpy()


def _check(batch: Batch, name: str, good: NDArray[np.bool_], what: str) -> None:
    if not good.all():
        raise batch.rows.complaint(int(np.argmin(good)), name, what)


def _check_each(
    batch: Batch, name: str, owner: NDArray[np.int64], good: NDArray[np.bool_], what: str
) -> None:
    if not good.all():
        raise batch.rows.complaint(int(owner[np.argmin(good)]), name, what)
