"""Agreement with the paper is computed from the numbers."""

import math

import pytest

from cacheroute.simulation.paper.agreement import agreement, direction
from cacheroute.simulation.paper.reference import result
from cacheroute.simulation.paper.report import agreement_lines
from cacheroute.simulation.paper.study import Agreement


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [(1.0, 2.0, -1), (2.0, 1.0, 1), (1.0, 1.04, 0), (0.0, 0.0, 0), (math.inf, 3.0, 1), (math.nan, 1.0, 0)],
)
def test_directions(one: float, two: float, expected: int) -> None:
    assert direction(one, two) == expected


def test_pairs_are_counted_and_told() -> None:
    papers = {"flat": 42.0, "sticky": 30.0, "chwbl": 64.0, "preble": 64.5}
    ours = {"flat": 50.0, "sticky": 50.0, "chwbl": 40.0, "preble": 90.0}
    found = agreement("capacity", ours, papers)
    assert (found.same, found.unseparated, len(found.opposite)) == (2, 1, 2)
    assert found.compared == 5
    assert found.opposite[0] == "capacity: Flat-LB above CHWBL (50 and 40); in the paper below (42 and 64)"


def test_what_the_paper_does_not_have_is_not_compared() -> None:
    assert agreement("capacity", {"flat": 1.0, "stable": 9.0}, {"flat": 2.0}).compared == 0


def test_the_papers_results_are_there() -> None:
    found = result("T1", "70B fp8 K128 n=5", "cacheroute", "capacity_qps_at_3.5s")
    assert found is not None
    assert (found.value, found.interval) == (176.0, 11.0)
    assert result("T1", "70B fp8 K128 n=5", "llmd", "kv_hit_pct") is None


def test_only_what_has_the_same_direction_agrees() -> None:
    told = {
        "Agrees": Agreement(same=1, unseparated=3),
        "Nothing is separated here": Agreement(unseparated=2),
        "Disagrees in part": Agreement(same=5, opposite=("a above b",)),
    }
    for words, found in told.items():
        assert agreement_lines(found)[0].startswith(f"* **{words}**")
