"""Simulations of fleets: plans, losses, figures."""

from dataclasses import replace

import numpy as np
import pytest
from joblib import Parallel, delayed

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.figures import FleetFigures, fleet_figures
from cacheroute.simulation.fleet.loss import Loss
from cacheroute.simulation.fleet.simulate import FleetSettings, simulate
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.workloads.arrivals import Arrivals, arrivals
from cacheroute.simulation.workloads.rates import highest_shares
from cacheroute.simulation.workloads.tenants import Prompts, tenants

PLAN = PlanSettings(Planner.STABLE, capacity=10.0, warm=64, interval_seconds=10.0, window_seconds=30.0)
SETTINGS = FleetSettings(Policy.FLAT, 6, EngineLimits(blocks=1500), SERVING_MODELS["70b-fp8"].costs, seed=3)
PLANNED = replace(SETTINGS, policy=Policy.PLANNED, plan=PLAN)


def work(seconds: float = 60.0, rate: float = 25.0, seed: int = 0) -> Work:
    random = np.random.default_rng(seed)
    times = arrivals(Arrivals.POISSON, rate, seconds, random)
    return tenants(times, highest_shares(60), Prompts(), random)


def judged(settings: FleetSettings, requests: Work | None = None) -> FleetFigures:
    made = work() if requests is None else requests
    return fleet_figures(made, simulate(made, settings), settings.destinations, warmup=20.0)


def test_a_plan_finds_more_prefixes_and_serves_faster() -> None:
    flat, planned = judged(SETTINGS), judged(PLANNED)
    assert planned.token_hit > flat.token_hit + 0.05
    assert planned.ttft_p50 < flat.ttft_p50
    assert planned.failed == flat.failed == 0.0


def test_a_lost_destination_is_used_again_only_after_it_is_back() -> None:
    requests, lost = work(), Loss(time=25.0, destination=2, seconds=15.0)
    done = simulate(requests, replace(PLANNED, losses=(lost,)))
    away = (requests.arrival > 25.0) & (requests.arrival < 40.0)
    assert not (done.destination[away] == 2).any()
    assert (done.destination[requests.arrival > 40.0] == 2).any()
    cut = np.isinf(done.finished)
    assert 0 < cut.sum() < 20
    assert (done.destination[cut] == 2).all()
    assert not np.isnan(done.first_token).any()


def test_what_had_not_begun_is_served_elsewhere() -> None:
    requests = work(rate=150.0)
    lost = Loss(time=30.0, destination=0, seconds=100.0)
    done = simulate(requests, replace(SETTINGS, losses=(lost,)))
    late = (requests.arrival < 30.0) & (done.first_token > 30.0)
    assert late.any()
    assert not (done.destination[late] == 0).any()


def test_the_result_is_the_same_in_every_process() -> None:
    here = [judged(settings) for settings in (SETTINGS, PLANNED)]
    assert Parallel(n_jobs=2)(delayed(judged)(settings) for settings in (SETTINGS, PLANNED)) == here


def test_figures_of_requests_that_failed() -> None:
    requests = work(seconds=20.0)
    everything_down = tuple(Loss(5.0, r, 100.0) for r in range(6))
    figures = judged(replace(SETTINGS, losses=everything_down), work(seconds=40.0))
    assert figures.failed == 1.0
    assert figures.ttft_p99 == np.inf
    assert judged(SETTINGS, requests).requests == 0


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SimulationError, match="at least one destination"):
        judged(replace(SETTINGS, destinations=0))
    with pytest.raises(SimulationError, match="policy planned"):
        judged(replace(SETTINGS, plan=PLAN))
    with pytest.raises(SimulationError, match="KV cache of an engine holds 160"):
        judged(replace(SETTINGS, limits=EngineLimits(blocks=10)))
