"""Capacities by the paper's rules."""

from dataclasses import replace

import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.ladder import Censored, capacity, mean
from cacheroute.simulation.fleet.figures import FleetFigures

LADDER = (30, 60, 80)
GOOD = FleetFigures(100, 0.0, 0.1, 3.5, 0.9, 1.0, 1.0, 1.0, 1.0)
SLOW, FAILING = replace(GOOD, ttft_p99=3.6), replace(GOOD, failed=0.06)


def test_the_capacity_is_the_mean_of_the_highest_loads_that_hold() -> None:
    found = capacity(LADDER, [[GOOD, GOOD, SLOW], [GOOD, SLOW, SLOW], [GOOD, FAILING, FAILING]], 3.5)
    assert found.load.value == pytest.approx(40.0)
    assert found.load.half_width == pytest.approx(4.303 * 17.3205 / 3**0.5, rel=1e-4)
    assert found.censored is Censored.NO


def test_the_ends_of_the_ladder_are_told() -> None:
    assert capacity(LADDER, [[GOOD, GOOD, GOOD], [GOOD, GOOD, SLOW]], 3.5).censored is Censored.ABOVE
    assert capacity(LADDER, [[SLOW, SLOW, SLOW], [GOOD, GOOD, GOOD]], 3.5).censored is Censored.BELOW


def test_a_single_value_has_no_interval() -> None:
    assert mean([7.0]).half_width == 0.0
    with pytest.raises(SimulationError, match="at least one"):
        mean([])
