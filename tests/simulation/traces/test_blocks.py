"""Traces as work for engines."""

from dataclasses import replace

import numpy as np
import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.traces.blocks import Sharing, prepare
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace


def trace(blocks: Blocks | None = None) -> Trace:
    """Return two turns of one session, a request of the same key, one of another key, and one without a key."""
    size = 5
    return Trace(
        arrival=np.arange(5.0) + 0.0,
        prompt=np.array([100, 160, 100, 100, 100]),
        output=np.array([20, 0, 20, 20, 20]),
        keys=("a", "b"),
        key=np.array([0, 0, 0, 1, UNKNOWN], dtype=np.int32),
        models=(),
        model=np.full(size, UNKNOWN, dtype=np.int32),
        session=np.array([7, 7, UNKNOWN, UNKNOWN, UNKNOWN]),
        duration=np.full(size, np.nan),
        ttft=np.full(size, np.nan),
        cached=np.full(size, UNKNOWN),
        blocks=blocks,
    )


def shared(one: int, two: int, sharing: Sharing, blocks: Blocks | None = None) -> int:
    """Return how many first blocks two requests have in common."""
    work = prepare(trace(blocks), sharing, 10_000).work
    chains = [work.contents[work.first_block[i] : work.first_block[i + 1]] for i in (one, two)]
    size = min(map(len, chains))
    same = chains[0][:size] == chains[1][:size]
    return size if same.all() else int(np.argmin(same))


@pytest.mark.parametrize(
    ("sharing", "turns", "key", "other", "nobody"),
    [
        (Sharing(), 8, 0, 0, 0),
        (Sharing(prefix=40), 8, 2, 0, 0),
        (Sharing(template=32, prefix=32), 8, 4, 2, 2),
    ],
)
def test_what_prompts_have_in_common(sharing: Sharing, turns: int, key: int, other: int, nobody: int) -> None:
    assert shared(0, 1, sharing) == turns
    assert shared(0, 2, sharing) == key
    assert shared(0, 3, sharing) == other
    assert shared(0, 4, sharing) == nobody


def test_given_blocks_are_cut_into_those_of_engines() -> None:
    given = Blocks(32, np.array([0, 4, 9, 13, 17, 21]), np.array([1, 2, 3, 4, 1, 2, 3, 5, 6, *range(7, 19)]))
    assert shared(0, 1, Sharing(template=64), given) == 6
    assert shared(2, 3, Sharing(template=64), given) == 0
    with pytest.raises(SimulationError, match="blocks of 24 tokens"):
        prepare(trace(replace(given, size=24)), Sharing(), 10_000)


def test_requests_without_a_key_have_one_of_their_own() -> None:
    found = prepare(trace(), Sharing(), 10_000)
    assert found.work.key.tolist() == [0, 0, 0, 1, 2]
    assert found.work.output.min() == 1
    assert found.keys == ("a", "b")


def test_what_no_engine_holds_is_left_out() -> None:
    found = prepare(trace(), Sharing(), 130)
    assert (found.left_out, found.work.arrival.size) == (1, 4)
    with pytest.raises(SimulationError, match="no request of the trace fits"):
        prepare(trace(), Sharing(), 50)
    with pytest.raises(SimulationError, match="must be >= 0"):
        Sharing(template=-1)
