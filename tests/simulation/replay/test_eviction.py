"""Eviction algorithms of libCacheSim; our compiled and plain caches against them on the same trace."""

from dataclasses import replace

import libcachesim
import numpy as np
import pytest
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.replay import block_cache, eviction
from cacheroute.simulation.replay.eviction import Accesses, Algorithm, algorithm, find, hits, sessions
from cacheroute.simulation.replay.replay import ReplaySettings, route
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace
from tests.simulation.replay.made import conversations, mooncake

ALL = 10**12


def alone(objects: NDArray[np.int64], sizes: NDArray[np.int64]) -> Trace:
    """Return a trace with one object for each request, as its session and as its only block."""
    count = objects.size
    nothing = np.full(count, UNKNOWN)
    return Trace(
        arrival=np.arange(count, dtype=np.float64),
        prompt=sizes,
        output=np.zeros(count, dtype=np.int64),
        keys=(),
        key=nothing.astype(np.int32),
        models=(),
        model=nothing.astype(np.int32),
        session=objects,
        duration=np.zeros(count),
        ttft=np.full(count, np.nan),
        cached=nothing,
    )


def mooncake_blocks() -> NDArray[np.int64]:
    """Return the first 60,000 block accesses of the Mooncake trace, each request's last block first."""
    trace = mooncake()
    assert trace.blocks is not None
    return eviction.blocks(trace.blocks).objects[:60_000]


def compiled_hits(trace: Trace, capacity: int) -> NDArray[np.bool_]:
    """Return which requests the compiled session cache of one destination finds."""
    _columns, routed = route(trace, ReplaySettings(Policy.ROUND_ROBIN, 1, capacity))
    return routed.hit > 0


@pytest.mark.parametrize("capacity", [1, 16, 256, 4096, 16_384])
def test_the_compiled_cache_has_the_hits_of_libcachesim_on_a_block_trace(capacity: int) -> None:
    objects = mooncake_blocks()
    trace = alone(objects, np.ones(objects.size, dtype=np.int64))
    theirs = hits(Accesses(objects, trace.prompt), Algorithm.LRU, capacity)
    assert compiled_hits(trace, capacity).tolist() == theirs.tolist()
    assert capacity < 256 or theirs.any()


@pytest.mark.parametrize("capacity", [50_000, 400_000])
def test_the_compiled_cache_has_the_hits_of_libcachesim_where_sizes_differ(capacity: int) -> None:
    objects = mooncake_blocks()
    sizes = 1 + objects % 997
    theirs = hits(Accesses(objects, sizes), Algorithm.LRU, capacity)
    assert compiled_hits(alone(objects, sizes), capacity).tolist() == theirs.tolist()


def test_the_two_ways_in_which_the_compiled_cache_differs() -> None:
    """It knows that sessions grow, and it keeps the newest entry though that is too large; libCacheSim does neither."""
    grows = alone(np.array([1, 2, 1, 2]), np.array([40, 40, 80, 40]))
    theirs = hits(sessions(grows), Algorithm.LRU, 100)
    assert (compiled_hits(grows, 100).tolist(), theirs.tolist()) == (
        [False, False, True, False],
        [False, False, True, True],
    )
    large = alone(np.array([1, 1]), np.array([200, 200]))
    theirs = hits(sessions(large), Algorithm.LRU, 100)
    assert (compiled_hits(large, 100).tolist(), theirs.tolist()) == ([False, True], [False, False])


@pytest.mark.parametrize("capacity", [64, 1024])
def test_the_plain_block_caches_have_the_hits_of_libcachesim(capacity: int) -> None:
    """With one block in each request nothing but the algorithm counts.

    Belady differs: ours does not take a block that is needed later than all that are there, so it finds a little more.
    """
    objects = mooncake_blocks()[:30_000]
    trace = alone(objects, np.full(objects.size, 512))
    single = replace(trace, blocks=Blocks(512, np.arange(objects.size + 1), objects))
    for ours, theirs, less in (
        (block_cache.Eviction.FIFO, Algorithm.FIFO, 0.0),
        (block_cache.Eviction.LRU, Algorithm.LRU, 0.0),
        (block_cache.Eviction.OPTIMAL, Algorithm.BELADY, 0.001),
    ):
        plain = block_cache.block_hit(single, ours, capacity, measured=1.0)
        assert -1e-9 <= plain - find(single, theirs, 512 * capacity).token_hit <= less + 1e-9, ours


@pytest.mark.parametrize("chosen", [Algorithm.LRU, Algorithm.BELADY])
def test_whole_prompts_of_blocks_are_found_as_by_the_plain_cache(chosen: Algorithm) -> None:
    """Only a cache of few prompts differs: libCacheSim looks a block up after its own tail has come in."""
    trace = mooncake()
    plain = {Algorithm.LRU: block_cache.Eviction.LRU, Algorithm.BELADY: block_cache.Eviction.OPTIMAL}[chosen]
    ours = block_cache.block_hit(trace, plain, 8192, measured=1.0)
    assert find(trace, chosen, 512 * 8192).token_hit == pytest.approx(ours, abs=0.01)


@pytest.mark.parametrize("chosen", list(Algorithm))
def test_every_algorithm_finds_all_in_a_large_cache_and_less_in_a_small_one(chosen: Algorithm) -> None:
    trace = conversations(sessions=200)
    large = find(trace, chosen, ALL)
    assert large.request_hit == pytest.approx(5 / 6)
    assert find(trace, chosen, 20_000).request_hit < large.request_hit
    assert find(trace, chosen, 20_000) == find(trace, chosen, 20_000)


@pytest.mark.parametrize("seed", range(8))
def test_objects_that_grow_beyond_the_cache_end_no_replay(seed: int) -> None:
    """LibCacheSim's own BeladySize never came back from such a trace."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 100, 300) * (np.arange(300) // 20 + 1)
    accesses = Accesses(random.integers(0, 5 + 4 * seed, 300), sizes)
    for chosen in Algorithm:
        few, many = (int(hits(accesses, chosen, capacity).sum()) for capacity in (100, 100_000))
        assert few <= many <= 300


def test_who_knows_the_future_and_the_sizes_is_best_and_close_to_libcachesim() -> None:
    objects = mooncake_blocks()[:30_000]
    accesses = Accesses(objects, 1 + objects % 997)
    theirs = libcachesim.BeladySize(cache_size=400_000, hashpower=14)
    request, found = libcachesim.Request(), 0
    following = block_cache.next_uses(objects).tolist()
    rows = zip(objects.tolist(), accesses.sizes.tolist(), following, strict=True)
    for request.obj_id, request.obj_size, request.next_access_vtime in rows:
        found += theirs.get(request)
    ours = int(hits(accesses, Algorithm.BELADY, 400_000).sum())
    assert ours == pytest.approx(found, rel=0.03)
    assert ours > int(hits(accesses, Algorithm.LRU, 400_000).sum())


def test_nobody_is_better_than_who_knows_the_future() -> None:
    trace = mooncake()
    found = {chosen: find(trace, chosen, 512 * 2048).token_hit for chosen in Algorithm}
    assert max(found, key=lambda one: found[one]) is Algorithm.BELADY
    assert len(set(found.values())) == len(Algorithm)


def test_what_a_session_finds_is_what_it_left() -> None:
    trace = replace(alone(np.array([1, 1, 2]), np.array([100, 300, 50])), output=np.array([20, 7, 9]))
    with_answers, without = (find(trace, Algorithm.LRU, ALL, answers=one) for one in (True, False))
    assert with_answers.token_hit == pytest.approx(120 / 450)
    assert without.token_hit == pytest.approx(100 / 450)
    assert without.object_tokens == pytest.approx(300 / 450)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SimulationError, match="no eviction is called 'mru'"):
        algorithm("mru")
    with pytest.raises(SimulationError, match="s3-fifo needs at least 10"):
        find(conversations(), Algorithm.S3_FIFO, 9)
    with pytest.raises(SimulationError, match="at least 1"):
        find(conversations(), Algorithm.LRU, 0)
