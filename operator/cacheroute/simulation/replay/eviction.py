"""One cache under eight eviction algorithms, by libCacheSim: which objects of a trace are found.

A session is one object, as in A Year in LLM Serving (arXiv 2608.13573), section 6.3.2; where the trace knows its blocks,
a block is. libCacheSim counts an object as large as it was when it came in; it does not take objects larger than
the cache, and S3-FIFO none larger than its small queue, a tenth of the cache.
"""

from enum import StrEnum
from threading import Thread
from typing import Any, NamedTuple

import libcachesim
import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.replay.belady import sized_belady
from cacheroute.simulation.replay.block_cache import next_uses
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Algorithm(StrEnum):
    """Which object goes."""

    FIFO = "fifo"
    LRU = "lru"
    ARC = "arc"
    S3_FIFO = "s3-fifo"
    GDSF = "gdsf"
    LHD = "lhd"
    SIEVE = "sieve"
    BELADY = "belady"
    """Knows the future: a bound for the others, exact where all sizes are equal (see ``belady``)."""


_CLASSES = {
    Algorithm.FIFO: "FIFO",
    Algorithm.LRU: "LRU",
    Algorithm.ARC: "ARC",
    Algorithm.S3_FIFO: "S3FIFO",
    Algorithm.GDSF: "GDSF",
    Algorithm.LHD: "LHD",
    Algorithm.SIEVE: "Sieve",
    Algorithm.BELADY: "Belady",
}


_LEAST = {Algorithm.S3_FIFO: 10}
"""Tokens of the smallest cache: libCacheSim ends the process where a tenth of it is nothing."""
_SMALLEST_TABLE, _LARGEST_TABLE = 10, 24
"""Sizes of a hash table, as powers of two."""


class Accesses(NamedTuple):
    """What is asked of a cache, in order."""

    objects: Ints
    """int64[M], >= 0."""
    sizes: Ints
    """int64[M], tokens, >= 1."""


class Found(NamedTuple):
    """How much a cache finds; ratios are 0 where there was nothing to find."""

    token_hit: float
    """Prompt tokens found / prompt tokens."""
    request_hit: float
    """Share of the requests that find some of their prompt."""
    object_tokens: float
    """Tokens of the objects found / tokens of the objects: what arXiv 2608.13573 reports."""


def algorithm(name: str) -> Algorithm:
    """Return the algorithm with that name.

    Raises:
        SimulationError: there is none.
    """
    if name not in set(Algorithm):
        raise SimulationError(f"no eviction is called {name!r}; there are {', '.join(Algorithm)}")
    return Algorithm(name)


def hits(accesses: Accesses, chosen: Algorithm, capacity: int) -> Flags:
    """Return which accesses find their object in one cache of ``capacity`` tokens, bool[M].

    Equal arguments give equal results: libCacheSim's random numbers begin anew in every thread, so each run has its own.

    Raises:
        SimulationError: the cache is too small for the algorithm.
    """
    least = _LEAST.get(chosen, 1)
    if capacity < least:
        raise SimulationError(f"the cache holds {capacity} tokens; {chosen.value} needs at least {least}")
    alike = not accesses.sizes.size or bool((accesses.sizes == accesses.sizes[0]).all())
    if chosen is Algorithm.BELADY and not alike:
        return sized_belady(accesses.objects, accesses.sizes, capacity)
    found = np.zeros(accesses.objects.size, dtype=np.bool_)
    thread = Thread(target=_run, args=(accesses, _cache(accesses, chosen, capacity), capacity, found))
    thread.start()
    thread.join()
    return found


def _cache(accesses: Accesses, chosen: Algorithm, capacity: int) -> Any:
    distinct = int(np.unique(accesses.objects).size)
    table = min(_LARGEST_TABLE, max(_SMALLEST_TABLE, distinct.bit_length()))
    return getattr(libcachesim, _CLASSES[chosen])(cache_size=capacity, hashpower=table)


def _run(accesses: Accesses, cache: Any, capacity: int, found: Flags) -> None:
    request = libcachesim.Request()
    following = next_uses(accesses.objects).tolist()
    rows = zip(accesses.objects.tolist(), accesses.sizes.tolist(), following, strict=True)
    for at, (request.obj_id, size, request.next_access_vtime) in enumerate(rows):
        request.obj_size = size
        found[at] = cache.get(request) if size <= capacity else cache.find(request, True) is not None


def sessions(trace: Trace, *, answers: bool = True) -> Accesses:
    """Return the sessions of a trace as objects of their last prompt and, with ``answers``, its answer."""
    alone = trace.session == UNKNOWN
    own = np.where(alone, trace.session.max(initial=0) + 1 + np.arange(trace.size), trace.session)
    return Accesses(own, trace.prompt + (trace.output if answers else 0))


def blocks(of: Blocks) -> Accesses:
    """Return the blocks of each request, its last one first: so the head of a prompt is the newest and goes last."""
    return Accesses(of.ids[_turned(of)], np.full(of.ids.size, of.size, dtype=np.int64))


def find(trace: Trace, chosen: Algorithm, capacity: int, *, answers: bool = True) -> Found:
    """Replay one cache of ``capacity`` tokens.

    Args:
        trace: its blocks are the objects, its sessions where it has none.
        chosen: which object goes.
        capacity: tokens.
        answers: whether a session has its answers in the cache as well.

    Raises:
        SimulationError: the cache holds nothing.
    """
    accesses = blocks(trace.blocks) if trace.blocks is not None else sessions(trace, answers=answers)
    found = hits(accesses, chosen, capacity)
    tokens = _prefixes(trace.blocks, found) if trace.blocks is not None else _before(accesses) * found
    tokens = np.minimum(tokens, trace.prompt)
    return Found(
        token_hit=_ratio(tokens.sum(), trace.prompt.sum()),
        request_hit=_ratio(np.count_nonzero(tokens), trace.size),
        object_tokens=_ratio(accesses.sizes[found].sum(), accesses.sizes.sum()),
    )


def _turned(of: Blocks) -> Ints:
    """Return the positions of all blocks, those of each request backwards."""
    request = np.repeat(np.arange(of.offsets.size - 1), np.diff(of.offsets))
    turned: Ints = of.offsets[request] + of.offsets[request + 1] - 1 - np.arange(of.ids.size)
    return turned


def _prefixes(of: Blocks, found: Flags) -> Ints:
    """Return the tokens of each request up to its first block that is not found."""
    forward = found[_turned(of)]
    missing = np.append(np.flatnonzero(~forward), of.ids.size)
    first = missing[np.searchsorted(missing, of.offsets[:-1])]
    length: Ints = (np.minimum(first, of.offsets[1:]) - of.offsets[:-1]) * of.size
    return length


def _before(accesses: Accesses) -> Ints:
    """Return how large each object was when it was asked for the last time, 0 for the first."""
    order = np.argsort(accesses.objects, kind="stable")
    same = accesses.objects[order][1:] == accesses.objects[order][:-1]
    before = np.zeros(order.size, dtype=np.int64)
    before[order[1:][same]] = accesses.sizes[order[:-1][same]]
    return before


def _ratio(part: float | np.integer[Any], whole: float | np.integer[Any]) -> float:
    return float(part / whole) if whole else 0.0
