"""The KV blocks of one engine: a prefix cache with reference counts and LRU eviction."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence

from cacheroute.simulation.errors import SimulationError


class BlockPool:
    """A fixed number of blocks, each in use by some requests, or idle.

    An idle block keeps its contents, and can be found by its hash, until it is needed for something else. Blocks that
    nobody can find (the last one of a request is rarely full) go first, then the block that has been idle longest.
    Two blocks may hold the same contents (two requests computed the same prompt at once); the older one is found until
    it is evicted, then the other.
    """

    def __init__(self, blocks: int) -> None:
        if blocks < 1:
            raise SimulationError(f"the KV cache has {blocks} blocks; it needs at least 1")
        self._users = [0] * blocks
        self._hashes: list[Hashable | None] = [None] * blocks
        self._found: dict[Hashable, int] = {}
        self._doubles: dict[Hashable, list[int]] = {}
        self._idle: OrderedDict[int, None] = OrderedDict.fromkeys(range(blocks))

    @property
    def total(self) -> int:
        """Number of blocks."""
        return len(self._users)

    @property
    def idle(self) -> int:
        """Number of blocks that no request uses."""
        return len(self._idle)

    @property
    def usage(self) -> float:
        """Share of the blocks in use, 0 to 1."""
        return 1.0 - len(self._idle) / len(self._users)

    def match(self, hashes: Sequence[Hashable], limit: int) -> list[int]:
        """Return the blocks that hold the longest known prefix of ``hashes``, at most ``limit`` of them."""
        blocks = []
        for position in range(min(limit, len(hashes))):
            block = self._found.get(hashes[position])
            if block is None:
                break
            blocks.append(block)
        return blocks

    def fits(self, matched: Sequence[int], more: int) -> bool:
        """Tell whether ``more`` blocks can be allocated once the matched ones are held."""
        users = self._users
        reserved = sum(1 for block in matched if not users[block])
        return more <= len(self._idle) - reserved

    def hold(self, blocks: Sequence[int]) -> None:
        """Add one user to each of the blocks."""
        users = self._users
        for block in blocks:
            if not users[block]:
                del self._idle[block]
            users[block] += 1

    def allocate(self, count: int) -> list[int]:
        """Take blocks for new contents, evicting what has been idle longest; check ``fits`` first."""
        blocks = []
        for _ in range(count):
            block, _ = self._idle.popitem(last=False)
            self._forget(block)
            self._users[block] = 1
            blocks.append(block)
        return blocks

    def seal(self, block: int, contents: Hashable) -> None:
        """Name the contents of a block that is full, so that others find it."""
        self._hashes[block] = contents
        if self._found.setdefault(contents, block) != block:
            self._doubles.setdefault(contents, []).append(block)

    def release(self, blocks: Sequence[int]) -> None:
        """Take one user from each block; of those that are full the last one of the sequence is evicted first."""
        users = self._users
        for block in reversed(blocks):
            users[block] -= 1
            if not users[block]:
                self._idle[block] = None
                if self._hashes[block] is None:
                    self._idle.move_to_end(block, last=False)

    def _forget(self, block: int) -> None:
        contents = self._hashes[block]
        if contents is None:
            return
        self._hashes[block] = None
        doubles = self._doubles.get(contents)
        if doubles is None:
            del self._found[contents]
            return
        if self._found[contents] == block:
            self._found[contents] = doubles.pop(0)
        else:
            doubles.remove(block)
        if not doubles:
            del self._doubles[contents]
