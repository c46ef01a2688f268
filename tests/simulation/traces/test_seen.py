"""What was seen before is known, part by part."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.simulation.traces.seen import Seen


@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=6))
def test_each_thing_tells_when_it_came_before(parts: list[list[int]]) -> None:
    seen, plain, time = Seen(), dict[int, list[float]](), 0.0
    for part in parts:
        times = time + np.arange(len(part), dtype=np.float64)
        time += len(part)
        found = seen.add(np.array(part, dtype=np.int64), times, times.astype(np.int64) * 10)
        for at, thing in enumerate(part):
            before = plain.setdefault(thing, [])
            assert found.nth[at] == len(before)
            assert found.carried[at] == (10 * before[-1] if before else 0)
            assert np.array_equal(found.before[at], before[-1] if before else np.nan, equal_nan=True)
            before.append(float(times[at]))
    assert seen.thing.tolist() == sorted(plain)
    assert seen.count.tolist() == [len(plain[one]) for one in sorted(plain)]


def test_no_more_things_are_followed_than_allowed() -> None:
    seen = Seen(most=2)
    for _ in range(2):
        things = np.array([3, 1, 2, 2], dtype=np.int64)
        found = seen.add(things, np.arange(4.0), np.zeros(4, dtype=np.int64))
    assert seen.thing.tolist() == [1, 2]
    assert found.nth.tolist() == [0, 1, 2, 3]
    assert seen.missed == 2
