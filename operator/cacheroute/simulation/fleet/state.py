"""The state of R engines and N requests as arrays, changed in place by the kernel."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import RequestOverheads, StepCosts
from cacheroute.simulation.struct import struct

NONE = -1


@struct
class Work(NamedTuple):
    """The requests, in order of arrival; keys and sessions are dense."""

    arrival: NDArray[np.float64]
    key: NDArray[np.int64]
    session: NDArray[np.int64]
    prompt: NDArray[np.int64]
    """int64[N], >= 1."""
    output: NDArray[np.int64]
    """int64[N], >= 1."""
    first_block: NDArray[np.int64]
    """int64[N+1], request i has the blocks contents[first_block[i]:first_block[i+1]]: all of prompt and output, the last
    one may be partly filled."""
    contents: NDArray[np.int64]
    """int64[M], >= 0, equal where a block and all before it are equal; of a block that is not full it is never looked at."""


@struct
class Done(NamedTuple):
    """What became of each request; times are seconds of the trace's clock, NaN where it did not happen."""

    destination: NDArray[np.int64]
    cached: NDArray[np.int64]
    """int64[N], prompt tokens found in the prefix cache."""
    first_token: NDArray[np.float64]
    finished: NDArray[np.float64]
    preemptions: NDArray[np.int64]


@struct
class Live(NamedTuple):
    """Requests inside engines."""

    computed: NDArray[np.int64]
    """int64[N], tokens whose KV entries exist."""
    generated: NDArray[np.int64]
    queued: NDArray[np.float64]
    """float64[N], when the scheduler sees it."""
    expected: NDArray[np.int64]
    """int64[N], prompt tokens that were not in the cache when it was routed."""
    blocks: NDArray[np.int32]
    """int32[M], blocks that it holds, laid out like ``Work.contents``."""
    held: NDArray[np.int64]
    """int64[N], number of those."""
    following: NDArray[np.int64]
    """int64[N], the next request in the same queue."""


@struct
class Queue(NamedTuple):
    """First in, first out, for each engine; chained by ``Live.following``."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]


@struct
class Engines(NamedTuple):
    """R engines."""

    arriving: Queue
    waiting: Queue
    running: NDArray[np.int64]
    """int64[R, sequences]"""
    runs: NDArray[np.int64]
    """int64[R], number of those."""
    chunk_of: NDArray[np.int64]
    """int64[R, sequences], requests of the step that is computed."""
    chunk: NDArray[np.int64]
    """int64[R, sequences], tokens of each."""
    chunks: NDArray[np.int64]
    """int64[R], number of those; 0 where no step is computed."""
    step_ends: NDArray[np.float64]
    steps: NDArray[np.int64]
    """int64[R], steps so far."""


@struct
class Pools(NamedTuple):
    """KV blocks of R engines, B blocks each; see engine_model.blocks."""

    users: NDArray[np.int32]
    contents: NDArray[np.int64]
    """int64[R, B], NONE where unknown."""
    older: NDArray[np.int32]
    newer: NDArray[np.int32]
    """int32[R, B], the list of idle blocks, by the time since when they are idle."""
    double: NDArray[np.int32]
    """int32[R, B], the next block with the same contents."""
    oldest: NDArray[np.int64]
    newest: NDArray[np.int64]
    idle: NDArray[np.int64]
    """int64[R], number of idle blocks."""
    slot_of: NDArray[np.int64]
    """int64[R, slots], contents of each slot of a hash table; NONE where empty."""
    slot: NDArray[np.int32]
    """int32[R, slots], the block that is found for them."""


class Limits(NamedTuple):
    """Sizes of an engine."""

    block: int
    tokens: int
    """In one step."""
    sequences: int


class Timing(NamedTuple):
    """Step costs in milliseconds and request overheads in seconds; see engine_model.step_time."""

    weights_floor: float
    per_token: float
    extra_per_token: float
    per_decode_context: float
    per_prefill_work: float
    fixed: float
    per_decode: float
    before_queue: float
    at_end: float
    per_output_token: float


@struct
class State(NamedTuple):
    """Everything."""

    work: Work
    done: Done
    live: Live
    engines: Engines
    pools: Pools
    limits: Limits
    timing: Timing


def state(work: Work, destinations: int, limits: EngineLimits, timing: Timing) -> State:
    """Return R idle engines with empty caches before the first request."""
    size = work.arrival.size
    done = Done(_none(size), np.zeros(size, np.int64), _nan(size), _nan(size), np.zeros(size, np.int64))
    live = Live(
        computed=np.zeros(size, np.int64),
        generated=np.zeros(size, np.int64),
        queued=_nan(size),
        expected=np.zeros(size, np.int64),
        blocks=np.full(work.contents.size, NONE, np.int32),
        held=np.zeros(size, np.int64),
        following=_none(size),
    )
    return State(
        work=work,
        done=done,
        live=live,
        engines=_engines(destinations, limits.sequences),
        pools=_pools(destinations, limits.blocks),
        limits=Limits(limits.block_size, limits.batched_tokens, limits.sequences),
        timing=timing,
    )


def timing(costs: StepCosts, overheads: RequestOverheads) -> Timing:
    """Return the costs as the kernel reads them."""
    return Timing(
        costs.weights_floor,
        costs.per_token,
        costs.extra_per_token,
        costs.per_decode_context,
        costs.per_prefill_work,
        costs.fixed,
        costs.per_decode,
        overheads.before_queue,
        overheads.at_end,
        overheads.per_output_token,
    )


def _engines(destinations: int, sequences: int) -> Engines:
    shape = (destinations, sequences)
    return Engines(
        arriving=Queue(_none(destinations), _none(destinations)),
        waiting=Queue(_none(destinations), _none(destinations)),
        running=np.zeros(shape, np.int64),
        runs=np.zeros(destinations, np.int64),
        chunk_of=np.zeros(shape, np.int64),
        chunk=np.zeros(shape, np.int64),
        chunks=np.zeros(destinations, np.int64),
        step_ends=np.full(destinations, np.inf),
        steps=np.zeros(destinations, np.int64),
    )


def _pools(destinations: int, blocks: int) -> Pools:
    slots = 1 << (2 * blocks - 1).bit_length()
    row = np.arange(blocks, dtype=np.int32)
    newer = np.tile(row + 1, (destinations, 1))
    newer[:, -1] = NONE
    return Pools(
        users=np.zeros((destinations, blocks), np.int32),
        contents=np.full((destinations, blocks), NONE, np.int64),
        older=np.tile(row - 1, (destinations, 1)),
        newer=newer,
        double=np.full((destinations, blocks), NONE, np.int32),
        oldest=np.zeros(destinations, np.int64),
        newest=np.full(destinations, blocks - 1, np.int64),
        idle=np.full(destinations, blocks, np.int64),
        slot_of=np.full((destinations, slots), NONE, np.int64),
        slot=np.full((destinations, slots), NONE, np.int32),
    )


def _none(size: int) -> NDArray[np.int64]:
    return np.full(size, NONE, np.int64)


def _nan(size: int) -> NDArray[np.float64]:
    return np.full(size, np.nan)
