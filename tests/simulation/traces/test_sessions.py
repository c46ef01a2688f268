"""Sessions are reconstructed as the trace paper does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.simulation.traces.sessions import WINDOW, Linker, reconstruct
from cacheroute.simulation.traces.trace import UNKNOWN

SAMPLES = {
    "u4_0030958#3": [
        (4751, 318), (13818, 215), (22231, 4), (94726, 81), (139150, 1),
    ],
    "u4_0035374#96": [
        (10699, 130), (10872, 172), (11092, 192), (11313, 228), (11570, 197),
        (11801, 178), (12017, 182), (12231, 277), (14133, 189), (14366, 136),
    ],
}  # fmt: skip
"""Prompt and answer tokens of two sessions of the public year-long trace (github.com/HarvardMadSys/chutes_workload)."""


def arrays(rows: list[tuple[int, int, int, int]]) -> list[np.ndarray]:
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)] or [
        np.empty(0, dtype=np.int64)
    ] * 4


@pytest.mark.parametrize("sample", SAMPLES)
def test_published_sessions_come_out_whole(sample: str) -> None:
    rows = [(0, 0, prompt, output) for prompt, output in SAMPLES[sample]]
    found = reconstruct(*arrays(rows))
    assert found.turn.tolist() == list(range(len(rows)))
    assert set(found.session.tolist()) == {0}


def plainly(rows: list[tuple[int, int, int, int]]) -> list[int]:
    """Return the parents, by the words of the paper."""
    parents: list[int] = []
    for b, (user, kind, prompt, _) in enumerate(rows):
        mine = [a for a in range(b) if rows[a][0] == user and user != UNKNOWN and rows[a][2] >= 1][-WINDOW:]
        fitting = [
            (prompt - rows[a][2] - rows[a][3], -a)
            for a in mine
            if rows[a][1] == kind and a not in parents and rows[a][2] + rows[a][3] < prompt
        ]
        parents.append(-min(fitting)[1] if fitting and prompt >= 1 else UNKNOWN)
    return parents


@given(
    st.lists(
        st.tuples(st.integers(-1, 2), st.integers(0, 1), st.integers(0, 60), st.integers(0, 9)), max_size=60
    )
)
def test_the_tightest_of_the_last_ten_is_taken(rows: list[tuple[int, int, int, int]]) -> None:
    found, expected = reconstruct(*arrays(rows)), plainly(rows)
    for b, parent in enumerate(expected):
        mine = int(found.parent[b])
        assert (mine == UNKNOWN) == (parent == UNKNOWN)
        if mine != UNKNOWN:
            assert rows[mine][2] + rows[mine][3] == rows[parent][2] + rows[parent][3]
            assert found.session[b] == found.session[mine]
            assert found.turn[b] == found.turn[mine] + 1


def test_part_by_part_is_the_same_as_at_once() -> None:
    random = np.random.default_rng(3)
    user, kind = random.integers(0, 40, 2_000), random.integers(0, 2, 2_000)
    prompt, output = random.integers(1, 5_000, 2_000), random.integers(0, 50, 2_000)
    whole = reconstruct(user, kind, prompt, output)
    linker = Linker()
    parts = [
        linker.link(*(column[at : at + 300] for column in (user, kind, prompt, output)))
        for at in range(0, 2_000, 300)
    ]
    for column in whole._fields:
        joined = np.concatenate([getattr(part, column) for part in parts])
        assert np.array_equal(joined, getattr(whole, column)), column
    tied = whole.parent != UNKNOWN
    assert np.array_equal(whole.prefix[tied], (prompt + output)[whole.parent[tied]])
