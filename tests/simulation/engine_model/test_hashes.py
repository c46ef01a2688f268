import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.simulation.engine_model.hashes import chain_hashes

IDS = st.lists(st.integers(0, 3), max_size=40)
SIZES = st.integers(1, 8)


@given(IDS, SIZES)
def test_every_full_block_has_a_hash(ids: list[int], size: int) -> None:
    assert len(chain_hashes(np.array(ids, dtype=np.uint32), size)) == len(ids) // size


@given(IDS, IDS, SIZES)
def test_hashes_agree_exactly_as_far_as_the_blocks_do(left: list[int], right: list[int], size: int) -> None:
    pairs = zip(
        chain_hashes(np.array(left, dtype=np.uint32), size),
        chain_hashes(np.array(right, dtype=np.uint32), size),
        strict=False,
    )
    for number, (one, other) in enumerate(pairs, start=1):
        assert (one == other) == (left[: number * size] == right[: number * size])


def test_a_salt_changes_every_hash() -> None:
    tokens = np.arange(64, dtype=np.uint32)
    plain, salted = chain_hashes(tokens, 16), chain_hashes(tokens, 16, "tenant-a")
    assert not set(plain) & set(salted)
