"""Requests come out by time, with bounded memory."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from cacheroute.simulation.traces.order import in_order
from cacheroute.simulation.traces.requests import Requests, Runs, join


def requests(times: list[float], first_row: int = 1) -> Requests:
    size = len(times)
    columns: dict[str, Any] = {
        one.name: np.zeros(size, dtype=np.int64) for one in fields(Requests) if one.name != "runs"
    }
    columns["time"] = np.array(times, dtype=np.float64)
    columns["row"] = np.arange(first_row, first_row + size)
    runs = Runs(np.arange(size + 1), np.arange(size) + 10 * first_row, np.ones(size, dtype=np.int64))
    return Requests(**columns, runs=runs)


def late(row: int) -> Exception:
    return LookupError(f"row {row}")


def test_what_is_a_little_off_is_put_right() -> None:
    parts = [requests([1.0, 0.0, 3.0, 2.0]), requests([2.0, 5.0, 4.0, 6.0], 5)]
    whole = join(list(in_order(parts, late, held=6)))
    assert whole.time.tolist() == [0, 1, 2, 2, 3, 4, 5, 6]
    assert whole.row.tolist() == [2, 1, 4, 5, 3, 7, 6, 8], "those of one time as in the file"
    assert whole.runs is not None
    assert whole.runs.start.tolist() == [11, 10, 13, 50, 12, 52, 51, 53]


def test_what_is_far_off_is_told() -> None:
    parts = [requests([float(at) for at in range(8)]), requests([9.0, 1.0], 9)]
    with pytest.raises(LookupError, match="row 10"):
        list(in_order(parts, late, held=4))


def test_runs_are_written_out() -> None:
    runs = Runs(np.array([0, 2, 2, 3]), np.array([5, 0, 7]), np.array([2, 1, 3]))
    ids, offsets = runs.ids()
    assert ids.tolist() == [5, 6, 0, 7, 8, 9]
    assert offsets.tolist() == [0, 3, 3, 6]
    turned = runs.take(np.array([2, 0]))
    assert turned.ids()[0].tolist() == [7, 8, 9, 5, 6, 0]
