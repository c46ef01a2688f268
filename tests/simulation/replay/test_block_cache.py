"""Block caches agree with an independent simulator, and with simple arguments."""

import csv

import numpy as np
import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.replay.block_cache import NEVER, Eviction, block_hit, next_uses
from tests.simulation.replay.made import DATA, conversations, mooncake

WITHIN = 0.005
"""Half a percentage point."""


def test_mooncake_hit_rates_are_those_of_an_independent_simulator() -> None:
    trace = mooncake()
    with (DATA / "block_hit_rates.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 19
    for row in rows:
        none = row["cache_blocks"] == "inf"
        eviction = Eviction.NONE if none else Eviction(row["policy"])
        hit = block_hit(trace, eviction, 0 if none else int(row["cache_blocks"]))
        assert hit == pytest.approx(float(row["hit_rate_last50pct"]), abs=WITHIN), row


def test_a_larger_cache_never_finds_less_and_optimal_is_best() -> None:
    trace = mooncake().take(np.arange(3993) < 800)
    for capacity in (64, 512, 4096):
        lru, optimal = (block_hit(trace, one, capacity) for one in (Eviction.LRU, Eviction.OPTIMAL))
        assert lru <= optimal <= block_hit(trace, Eviction.NONE, 0)
        assert lru <= block_hit(trace, Eviction.LRU, 2 * capacity)


def test_next_uses_point_at_the_same_block() -> None:
    assert next_uses(np.array([5, 6, 5, 5])).tolist() == [2, NEVER, 3, NEVER]
    assert next_uses(np.array([], dtype=np.int64)).tolist() == []


def test_what_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(SimulationError, match="have no blocks"):
        block_hit(conversations(), Eviction.LRU, 10)
    with pytest.raises(SimulationError, match="at least 1"):
        block_hit(mooncake(), Eviction.LRU, 0)
