"""A trace keeps its columns together."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace


def three_requests() -> Trace:
    size = 3
    return Trace(
        arrival=np.array([0.0, 1.0, 1.0]),
        prompt=np.array([10, 20, 30]),
        output=np.array([1, 0, 3]),
        keys=("alice", "bob"),
        key=np.array([0, 1, UNKNOWN], dtype=np.int32),
        models=(),
        model=np.full(size, UNKNOWN, dtype=np.int32),
        session=np.full(size, UNKNOWN),
        duration=np.full(size, np.nan),
        ttft=np.full(size, np.nan),
        cached=np.full(size, UNKNOWN),
        blocks=Blocks(16, np.array([0, 1, 1, 3]), np.array([7, 8, 9])),
    )


def test_taking_requests_takes_their_blocks() -> None:
    chosen = three_requests().take(np.array([False, True, True]))
    assert chosen.size == 2
    assert chosen.prompt.tolist() == [20, 30]
    assert chosen.blocks is not None
    assert [chosen.blocks.of(i).tolist() for i in range(2)] == [[], [8, 9]]


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("prompt", [10, 20], "prompt has 2 values for 3 requests"),
        ("prompt", [10, 0, 30], r"prompt\[1\] must be >= 1"),
        ("arrival", [0.0, 2.0, 1.0], r"arrival\[2\] must be ascending"),
        ("arrival", [0.0, np.nan, 1.0], r"arrival\[1\] must be finite"),
        ("key", [0, 2, 1], r"key\[1\] must be an index into keys"),
    ],
)
def test_a_bad_column_is_named(column: str, values: list[float], says: str) -> None:
    changed: dict[str, Any] = {column: np.array(values)}
    with pytest.raises(SimulationError, match=says):
        replace(three_requests(), **changed)
