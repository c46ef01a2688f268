"""Who is ahead of `Stable`, and where a load ceases to be held."""

from dataclasses import replace

import pytest

from cacheroute.simulation.contest.knee import FASTEST, SLOWEST, Asked, knees
from cacheroute.simulation.contest.standing import Figures, standing
from cacheroute.simulation.experiments.cell import Outcome
from cacheroute.simulation.fleet.figures import FleetFigures

ONE = Figures(100.0, 90.0, 1.0, 2.0)


def test_margins_decide_who_is_ahead() -> None:
    near = Figures(110.0, 91.0, 0.5, 1.6)
    assert standing({"flat": ONE, "chwbl": near, "stable": ONE}).losses == ()
    far = Figures(111.0, 91.1, 0.5, 1.5)
    losses = standing({"flat": ONE, "chwbl": far, "stable": ONE}).losses
    assert losses == ("capacity: CHWBL", "hit: CHWBL", "worst p99: CHWBL")


def test_no_gain_over_flat_routing_should_be_warned_of() -> None:
    assert standing({"flat": ONE, "stable": ONE}).should_warn
    assert not standing({"flat": ONE, "stable": replace(ONE, hit=92.0)}).should_warn


def test_the_tail_of_all_requests_stands_in_where_no_key_has_enough() -> None:
    found = standing({"flat": replace(ONE, worst=0.0, tail=0.1), "stable": replace(ONE, worst=0.0)})
    assert found.losses == ("worst p99: Flat-LB",)


@pytest.mark.parametrize("limit", [0.3, 1.0, 7.0])
def test_a_knee_is_found_to_twenty_percent(limit: float) -> None:
    value, sign = _knee(limit)
    assert sign == ""
    assert limit / 1.2 <= value <= limit


def test_what_lies_beyond_is_marked() -> None:
    assert _knee(1e9) == (FASTEST, "≥")
    assert _knee(0.0) == (SLOWEST, "<")


def _knee(limit: float) -> tuple[float, str]:
    def run(asked: list[Asked]) -> list[Outcome]:
        figures = FleetFigures(1, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
        return [Outcome(replace(figures, ttft_p99=factor / limit if limit else 9.0)) for _, factor in asked]

    return knees(("flat",), run, 1.0)["flat"]  # type: ignore[arg-type]
