import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from cacheroute.simulation.engine_model.blocks import BlockPool
from cacheroute.simulation.errors import SimulationError

BLOCKS = 8


def fill(pool: BlockPool, *names: str) -> list[int]:
    """Allocate and name one block each, and give them back."""
    blocks = pool.allocate(len(names))
    for block, name in zip(blocks, names, strict=True):
        pool.seal(block, name)
    pool.release(blocks)
    return blocks


def test_a_released_prefix_is_found_again() -> None:
    pool = BlockPool(4)
    blocks = fill(pool, "a", "b", "c")
    assert pool.match(["a", "b", "x"], limit=3) == blocks[:2]
    assert pool.match(["a", "b", "c"], limit=1) == blocks[:1]
    assert pool.match(["x", "a"], limit=2) == []


def test_the_longest_idle_sequence_goes_first_and_its_tail_before_its_head() -> None:
    pool = BlockPool(4)
    fill(pool, "a1", "a2")
    fill(pool, "b1", "b2")
    survivors = []
    for _ in range(4):
        pool.allocate(1)
        survivors.append([name for name in ("a1", "a2", "b1", "b2") if pool.match([name], 1)])
    assert survivors == [["a1", "b1", "b2"], ["b1", "b2"], ["b1"], []]


def test_use_renews() -> None:
    pool = BlockPool(2)
    old = fill(pool, "old")
    fill(pool, "new")
    pool.hold(old)
    pool.release(old)
    pool.allocate(1)
    assert pool.match(["old"], 1)
    assert not pool.match(["new"], 1)


def test_held_blocks_are_not_evicted() -> None:
    pool = BlockPool(3)
    held = fill(pool, "a")
    pool.hold(held)
    assert not pool.fits([], 3)
    pool.allocate(2)
    assert pool.match(["a"], 1) == held
    assert pool.usage == 1.0


def test_matched_idle_blocks_do_not_count_as_room() -> None:
    pool = BlockPool(3)
    matched = fill(pool, "a")
    assert pool.fits(matched, 2)
    assert not pool.fits(matched, 3)


@pytest.mark.parametrize("evicted", [0, 1])
def test_a_second_copy_takes_over(evicted: int) -> None:
    pool = BlockPool(2)
    blocks = pool.allocate(2)
    for block in blocks:
        pool.seal(block, "same")
    pool.release([blocks[evicted]])
    pool.allocate(1)
    assert pool.match(["same"], 1) == [blocks[1 - evicted]]


def test_no_blocks_no_pool() -> None:
    with pytest.raises(SimulationError, match="0 blocks"):
        BlockPool(0)


class PoolMachine(RuleBasedStateMachine):
    """Requests come and go; whatever the order, no block is lost, shared by accident or forgotten while held."""

    held: Bundle[tuple[list[str], list[int]]] = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(BLOCKS)
        self.users: list[tuple[list[str], list[int]]] = []

    @rule(target=held, path=st.text("ab", min_size=1, max_size=5))
    def arrive(self, path: str) -> tuple[list[str], list[int]]:
        names = [path[: end + 1] for end in range(len(path))]
        matched = self.pool.match(names, len(names))
        if not self.pool.fits(matched, len(names) - len(matched)):
            return [], []
        self.pool.hold(matched)
        fresh = self.pool.allocate(len(names) - len(matched))
        for block, name in zip(fresh, names[len(matched) :], strict=True):
            self.pool.seal(block, name)
        self.users.append((names, matched + fresh))
        return self.users[-1]

    @rule(user=consumes(held))
    def leave(self, user: tuple[list[str], list[int]]) -> None:
        if user[1]:
            self.users.remove(user)
            self.pool.release(user[1])

    @invariant()
    def in_use_is_what_users_hold(self) -> None:
        used = {block for _, blocks in self.users for block in blocks}
        assert self.pool.total - self.pool.idle == len(used) <= BLOCKS

    @invariant()
    def users_find_what_they_hold(self) -> None:
        for names, blocks in self.users:
            assert self.pool.match(names, len(names)) == blocks


TestPool = PoolMachine.TestCase


def test_what_nobody_can_find_goes_before_what_has_been_idle_longest() -> None:
    pool = BlockPool(3)
    fill(pool, "old")
    full, rest = pool.allocate(2)
    pool.seal(full, "new")
    pool.release([full, rest])
    assert pool.allocate(1) == [rest]
    assert pool.match(["old"], 1)
