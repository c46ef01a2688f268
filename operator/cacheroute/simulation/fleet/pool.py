"""KV blocks of one engine of the fleet, compiled: reference counts, LRU of idle blocks, lookup by contents.

A hash table with linear probing finds a block by its contents; taking an entry out moves those behind it back.
"""

import numpy as np

from cacheroute.simulation.compiled import compiled
from cacheroute.simulation.fleet.state import NONE, Pools

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@compiled
def _home(contents: int, slots: int) -> int:
    return int((np.uint64(contents) * _GOLDEN) >> _HALF) & (slots - 1)


@compiled
def _slot(pools: Pools, r: int, contents: int) -> int:
    """Return the slot of the contents, or the empty one where they belong."""
    slots = pools.slot_of.shape[1]
    at = _home(contents, slots)
    while pools.slot_of[r, at] != NONE and pools.slot_of[r, at] != contents:
        at = (at + 1) & (slots - 1)
    return at


@compiled
def find(pools: Pools, r: int, contents: int) -> int:
    """Return the block with these contents, or NONE."""
    at = _slot(pools, r, contents)
    return int(pools.slot[r, at]) if pools.slot_of[r, at] != NONE else NONE


@compiled
def hold(pools: Pools, r: int, block: int) -> None:
    """Add a user to a block."""
    if pools.users[r, block] == 0:
        _leave_idle(pools, r, block)
    pools.users[r, block] += 1


@compiled
def allocate(pools: Pools, r: int) -> int:
    """Take the block that has been idle longest for new contents; there must be an idle one."""
    block = int(pools.oldest[r])
    _leave_idle(pools, r, block)
    _forget(pools, r, block)
    pools.users[r, block] = 1
    return block


@compiled
def release(pools: Pools, r: int, block: int) -> None:
    """Take a user from a block; idle ones that nobody can find are taken first."""
    pools.users[r, block] -= 1
    if pools.users[r, block] > 0:
        return
    unknown = pools.contents[r, block] == NONE
    older, newer = (NONE, pools.oldest[r]) if unknown else (pools.newest[r], NONE)
    pools.older[r, block], pools.newer[r, block] = older, newer
    if older == NONE:
        pools.oldest[r] = block
    else:
        pools.newer[r, older] = block
    if newer == NONE:
        pools.newest[r] = block
    else:
        pools.older[r, newer] = block
    pools.idle[r] += 1


@compiled
def _leave_idle(pools: Pools, r: int, block: int) -> None:
    older, newer = pools.older[r, block], pools.newer[r, block]
    if older == NONE:
        pools.oldest[r] = newer
    else:
        pools.newer[r, older] = newer
    if newer == NONE:
        pools.newest[r] = older
    else:
        pools.older[r, newer] = older
    pools.idle[r] -= 1


@compiled
def seal(pools: Pools, r: int, block: int, contents: int) -> None:
    """Name the contents of a full block; the oldest block with the same contents stays the one that is found."""
    pools.contents[r, block] = contents
    pools.double[r, block] = NONE
    at = _slot(pools, r, contents)
    if pools.slot_of[r, at] == NONE:
        pools.slot_of[r, at], pools.slot[r, at] = contents, block
        return
    last = int(pools.slot[r, at])
    while last != block and pools.double[r, last] != NONE:
        last = int(pools.double[r, last])
    if last != block:
        pools.double[r, last] = block


@compiled
def _forget(pools: Pools, r: int, block: int) -> None:
    contents = pools.contents[r, block]
    if contents == NONE:
        return
    pools.contents[r, block] = NONE
    at = _slot(pools, r, contents)
    first = int(pools.slot[r, at])
    if first != block:
        while pools.double[r, first] != block:
            first = int(pools.double[r, first])
        pools.double[r, first] = pools.double[r, block]
    elif pools.double[r, block] != NONE:
        pools.slot[r, at] = pools.double[r, block]
    else:
        _take_out(pools, r, at)


@compiled
def _take_out(pools: Pools, r: int, hole: int) -> None:
    slots = pools.slot_of.shape[1]
    at = hole
    while True:
        at = (at + 1) & (slots - 1)
        contents = pools.slot_of[r, at]
        if contents == NONE:
            break
        if ((at - _home(contents, slots)) & (slots - 1)) >= ((at - hole) & (slots - 1)):
            pools.slot_of[r, hole], pools.slot[r, hole] = contents, pools.slot[r, at]
            hole = at
    pools.slot_of[r, hole] = NONE


@compiled
def clear(pools: Pools, r: int) -> None:
    """Forget all contents and users: the engine was restarted."""
    blocks = pools.users.shape[1]
    pools.users[r, :] = 0
    pools.contents[r, :] = NONE
    pools.slot_of[r, :] = NONE
    for block in range(blocks):
        pools.older[r, block] = block - 1
        pools.newer[r, block] = block + 1 if block + 1 < blocks else NONE
    pools.oldest[r], pools.newest[r], pools.idle[r] = 0, blocks - 1, blocks
