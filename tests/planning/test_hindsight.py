"""Hindsight: rates of the past on a plan that is older than they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cacheroute.planning.hindsight import COLD, HOT, Caution, Hindsight, look_back
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import NOTHING, UNKNOWN, Demand, Route
from tests.planning.builders import assignment, demand, fleet

WINDOW = 300.0
EVEN = assignment({0: [0], 1: [1], 2: [2]})


def test_rates_that_stay_leave_nothing_to_say() -> None:
    found = look_back(EVEN, demand(10, 10, 10), fleet(20, 20, 20), WINDOW)
    assert found.cautions == ()
    assert found.utilisation == pytest.approx(0.5)
    assert found.cold == 0


def test_a_key_that_surged_makes_its_destination_hot() -> None:
    found = look_back(EVEN, demand(10, 10, 40), fleet(20, 20, 20), WINDOW)
    assert found.cautions == (Caution.HOT_DESTINATION,)
    chance = 3 * np.sqrt(40 / WINDOW)
    assert found.hottest == pytest.approx((40 - chance) / 20)


def test_load_counts_by_capacity() -> None:
    assert not look_back(EVEN, demand(10, 10, 40), fleet(20, 20, 80), WINDOW).cautions


def test_what_chance_does_in_a_short_window_is_no_surge() -> None:
    """One request more in ten seconds is nothing; a hundred times as long it is."""
    surged = demand(1, 1, 2)
    assert not look_back(EVEN, surged, fleet(2, 2, 2), 10.0).cautions
    assert look_back(EVEN, surged, fleet(2, 2, 2), 1000.0).cautions == (Caution.HOT_DESTINATION,)


def test_keys_without_destinations_and_requests_without_a_key_are_cold() -> None:
    found = look_back(EVEN, demand(10, 10, 10, 6, unkeyed=4), fleet(20, 20, 20), WINDOW)
    assert found.cold == pytest.approx(0.25)
    assert found.cautions == (Caution.COLD_TRAFFIC,)


def test_what_the_user_routes_cold_is_no_reason_to_warn() -> None:
    fixed = Demand(np.array([10.0, 10, 10, 10]), route=np.array([0, 0, 0, Route.COLD], dtype=np.int8))
    assert look_back(EVEN, fixed, fleet(20, 20, 20), WINDOW).cold == 0


def test_a_destination_that_is_absent_is_no_fault_of_the_plan() -> None:
    away = look_back(EVEN, demand(10, 10, 10), fleet(20, 20, 20, absent=[1]), WINDOW)
    assert away == look_back(EVEN, demand(10, 10, 10), fleet(20, 20, 20), WINDOW)


def test_a_key_whose_destination_is_gone_for_good_is_cold() -> None:
    gone = assignment({0: [0], 1: [UNKNOWN], 2: [2]})
    assert look_back(gone, demand(10, 10, 10), fleet(20, 20, 20), WINDOW).cold == pytest.approx(1 / 3)


def test_no_traffic_and_no_plan() -> None:
    assert look_back(EVEN, demand(0, 0, 0), fleet(20, 20, 20), WINDOW) == Hindsight()
    assert look_back(NOTHING, demand(1, 1), fleet(2, 2), WINDOW).cold == 1


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=20), st.integers(1, 8), st.floats(1.0, 1000.0))
def test_shares_are_shares_and_fitting_plans_are_no_hotter_than_they_say(
    rates: list[float], size: int, seconds: float
) -> None:
    asked, where = demand(*rates), fleet(*[10.0] * size)
    plan = plan_stable(asked, where, None)
    found = look_back(plan, asked, where, seconds)
    assert 0 <= found.cold <= 1 + 1e-12
    assert 0 <= found.hottest <= plan.report.imbalance + 1e-9


def test_thresholds_are_where_the_results_say() -> None:
    assert Hindsight(HOT, 1.0, COLD).cautions == ()
    assert Hindsight(HOT * 1.01, 1.0, COLD * 1.01).cautions == tuple(Caution)
