"""One block cache over a trace with blocks: how much of the prompts is found, by eviction policy and size.

A request finds its longest prefix of blocks that are all there. Then its blocks become the newest ones: with LRU the
head of the prompt is the most recent, so that a chain is evicted from its tail (vLLM frees blocks in that order);
FIFO keeps the order in which blocks came. ``optimal`` is Belady's rule for each access to a block, and does not keep
a block that is needed later than everything that is there.
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import StrEnum
from math import inf

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.traces.trace import Blocks, Trace

NEVER = np.iinfo(np.int64).max
"""Next use of a block that is not used again."""


class Eviction(StrEnum):
    """Which block goes."""

    FIFO = "fifo"
    LRU = "lru"
    OPTIMAL = "optimal"
    NONE = "none"
    """The cache is large enough for all: the ceiling of every policy."""


def block_hit(trace: Trace, eviction: Eviction, capacity: int, *, measured: float = 0.5) -> float:
    """Return the token-weighted hit ratio of the last ``measured`` share of the requests, 0..1.

    Args:
        trace: with blocks.
        eviction: which block goes.
        capacity: blocks that the cache holds, >= 1.
        measured: share of the requests that count; those before only fill the cache.

    Raises:
        SimulationError: the trace has no blocks, or the cache holds none.
    """
    if trace.blocks is None:
        raise SimulationError("trace: its requests have no blocks; sessions can be replayed instead")
    if capacity < 1 and eviction is not Eviction.NONE:
        raise SimulationError(f"the cache holds {capacity} blocks; it needs at least 1")
    found = _FOUND[eviction](trace.blocks, capacity)
    tokens = np.fromiter(found, dtype=np.int64, count=trace.size) * trace.blocks.size
    counts = np.arange(trace.size) >= int((1.0 - measured) * trace.size)
    prompt = trace.prompt[counts]
    return float(np.minimum(tokens[counts], prompt).sum() / prompt.sum()) if prompt.size else 0.0


def _prefix(blocks: NDArray[np.int64], held: object) -> int:
    count = 0
    for block in blocks.tolist():
        if block not in held:  # type: ignore[operator]  # any container
            break
        count += 1
    return count


def _all(blocks: Blocks, _capacity: int) -> Iterator[int]:
    held: set[int] = set()
    for i in range(blocks.offsets.size - 1):
        yield _prefix(blocks.of(i), held)
        held.update(blocks.of(i).tolist())


def _fifo(blocks: Blocks, capacity: int) -> Iterator[int]:
    held: OrderedDict[int, None] = OrderedDict()
    for i in range(blocks.offsets.size - 1):
        yield _prefix(blocks.of(i), held)
        for block in blocks.of(i).tolist():
            if block not in held:
                _add(held, block, capacity)


def _lru(blocks: Blocks, capacity: int) -> Iterator[int]:
    held: OrderedDict[int, None] = OrderedDict()
    for i in range(blocks.offsets.size - 1):
        yield _prefix(blocks.of(i), held)
        for block in reversed(blocks.of(i).tolist()):
            if block in held:
                held.move_to_end(block)
            else:
                _add(held, block, capacity)


def _add(held: OrderedDict[int, None], block: int, capacity: int) -> None:
    held[block] = None
    if len(held) > capacity:
        held.popitem(last=False)


def _optimal(blocks: Blocks, capacity: int) -> Iterator[int]:
    following = next_uses(blocks.ids).tolist()
    held: dict[int, int] = {}
    latest: list[tuple[int, int]] = []
    for i in range(blocks.offsets.size - 1):
        yield _prefix(blocks.of(i), held)
        for at in range(int(blocks.offsets[i]), int(blocks.offsets[i + 1])):
            _keep(held, latest, (int(blocks.ids[at]), following[at]), capacity)


def _keep(
    held: dict[int, int], latest: list[tuple[int, int]], access: tuple[int, int], capacity: int
) -> None:
    """Keep the block of an access unless it is needed later than all that are held."""
    block, following = access
    if block not in held and len(held) >= capacity:
        while held.get(latest[0][1], -inf) != -latest[0][0]:
            heapq.heappop(latest)
        if -latest[0][0] <= following:
            return
        del held[heapq.heappop(latest)[1]]
    held[block] = following
    heapq.heappush(latest, (-following, block))


def next_uses(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each access the position of the next one to the same block, int64[M]; NEVER for the last."""
    order = np.argsort(ids, kind="stable")
    same = ids[order][1:] == ids[order][:-1]
    following = np.full(ids.size, NEVER)
    following[order[:-1][same]] = order[1:][same]
    return following


_FOUND: dict[Eviction, Callable[[Blocks, int], Iterator[int]]] = {
    Eviction.FIFO: _fifo,
    Eviction.LRU: _lru,
    Eviction.OPTIMAL: _optimal,
    Eviction.NONE: _all,
}
"""Eviction → blocks found by each request."""
