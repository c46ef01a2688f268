"""Made-up traffic as a value."""

from dataclasses import replace

import numpy as np
import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.traffic import Crowd, Drift, Traffic, Whales, make, shares_of
from cacheroute.simulation.workloads.arrivals import Arrivals
from cacheroute.simulation.workloads.tenants import Prompts

TRAFFIC = Traffic(keys=40, rate=100.0, seconds=60.0, prompts=Prompts())


def share(traffic: Traffic, key: int, begin: float, end: float) -> float:
    work = make(traffic).work
    here = (work.arrival >= begin) & (work.arrival < end)
    return float((work.key[here] == key).mean())


def test_equal_traffic_gives_equal_requests() -> None:
    one, two, other = make(TRAFFIC), make(TRAFFIC), make(replace(TRAFFIC, seed=1))
    for column, again in zip(one.work, two.work, strict=True):
        np.testing.assert_array_equal(column, again)
    assert one.before.tolist() == two.before.tolist()
    assert one.work.arrival.tolist() != other.work.arrival.tolist()


def test_rates_before_are_those_of_the_first_shares() -> None:
    before = make(replace(TRAFFIC, whales=Whales(2, 0.6))).before
    assert before.sum() == pytest.approx(100.0, rel=0.03)
    assert before[:2].sum() == pytest.approx(60.0, rel=0.03)


def test_shares_drift_step_by_step() -> None:
    drifting = replace(TRAFFIC, drift=Drift(0.5, 20.0))
    steps = [shares_of(drifting, n) for n in range(3)]
    assert all(one.sum() == pytest.approx(1.0) for one in steps)
    moved = int(np.argmax(np.abs(steps[2] - steps[0])))
    assert share(drifting, moved, 40.0, 60.0) == pytest.approx(float(steps[2][moved]), abs=0.02)
    assert share(drifting, moved, 0.0, 20.0) == pytest.approx(float(steps[0][moved]), abs=0.02)
    assert shares_of(TRAFFIC, 2).tolist() == shares_of(TRAFFIC, 0).tolist()


def test_a_crowd_comes_and_goes() -> None:
    crowded = replace(TRAFFIC, crowd=Crowd(20.0, 20.0, 0.5))
    assert share(crowded, 39, 20.0, 40.0) == pytest.approx(0.5, abs=0.03)
    assert share(crowded, 39, 0.0, 20.0) < 0.05
    assert share(crowded, 39, 40.0, 60.0) < 0.05


@pytest.mark.parametrize("process", list(Arrivals))
def test_bursts_have_their_variation(process: Arrivals) -> None:
    work = make(replace(TRAFFIC, arrivals=process, seconds=900.0, variation=2.73)).work
    gaps = np.diff(work.arrival)
    expected = 1.0 if process is Arrivals.POISSON else 2.73
    assert gaps.std() / gaps.mean() == pytest.approx(expected, rel=0.15)


def test_nonsense_is_refused() -> None:
    with pytest.raises(SimulationError, match="must be > 0"):
        replace(TRAFFIC, rate=0.0)
