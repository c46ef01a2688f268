"""Series of simulations: the same whoever runs them, and kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.backends import Backend
from cacheroute.simulation.experiments.cell import Cell, Outcome, run_cell, with_load, with_seed
from cacheroute.simulation.experiments.digest import digest
from cacheroute.simulation.experiments.store import Ran, Store
from cacheroute.simulation.experiments.sweep import Workers, sweep
from cacheroute.simulation.experiments.traffic import Traffic, make
from cacheroute.simulation.fleet.simulate import FleetSettings
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.workloads.tenants import Prompts

FLAT = Cell(
    Traffic(20, 20.0, 10.0, Prompts(output=8)),
    FleetSettings(Policy.FLAT, 4, EngineLimits(blocks=1500), SERVING_MODELS["70b-fp8"].costs),
    warmup=3.0,
    spans=((3.0, 6.0), (6.0, 10.0)),
)
PLANNED = replace(
    FLAT, fleet=replace(FLAT.fleet, policy=Policy.PLANNED, plan=PlanSettings(Planner.STABLE, 10.0, 16))
)
CELLS = [
    with_seed(with_load(cell, load), seed)
    for cell in (FLAT, PLANNED)
    for load in (10.0, 30.0)
    for seed in (0, 1)
]


@pytest.fixture(scope="module")
def expected() -> list[Outcome]:
    return [run_cell(cell) for cell in CELLS]


def outcomes(workers: Workers) -> list[Outcome]:
    return [ran.outcome for ran in sweep(CELLS, workers)]


@pytest.mark.parametrize(
    "workers", [Workers(jobs=1), Workers(jobs=2), Workers(jobs=3), Workers(jobs=2, backend=Backend.DASK)]
)
def test_results_are_the_same_to_the_bit_whoever_computes(workers: Workers, expected: list[Outcome]) -> None:
    assert outcomes(workers) == expected


def test_a_plan_is_there_from_the_start() -> None:
    assert run_cell(PLANNED).figures.token_hit > run_cell(FLAT).figures.token_hit + 0.05


def test_an_interrupted_series_goes_on_where_it_stopped(tmp_path: Path, expected: list[Outcome]) -> None:
    workers = Workers(jobs=1, store=tmp_path)

    def interrupt(done: int, _all: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(CELLS, workers, interrupt)
    told: list[int] = []
    again = sweep(CELLS, workers, lambda done, _all: told.append(done))
    assert told[0] == 3
    assert [ran.outcome for ran in again] == expected
    assert not list(tmp_path.rglob("*.tmp"))
    assert len(list(tmp_path.rglob("*.json"))) == len(CELLS)


def test_what_cannot_be_read_is_computed_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(FLAT, Ran(run_cell(FLAT), 1.0))
    path = next(tmp_path.rglob("*.json"))
    path.write_text(path.read_text("utf-8")[:-20], encoding="utf-8")
    assert store.get(FLAT) is None
    assert sweep([FLAT], Workers(jobs=1, store=tmp_path))[0].outcome == run_cell(FLAT)
    assert store.get(FLAT) is not None


def test_every_setting_is_part_of_the_name() -> None:
    traffic = FLAT.traffic
    assert isinstance(traffic, Traffic)
    cells = [
        *CELLS,
        replace(FLAT, warmup=4.0),
        replace(FLAT, traffic=make(traffic).work),
    ]
    assert len({digest(cell) for cell in cells}) == len(cells)
    assert digest(FLAT) == digest(replace(FLAT))


def test_a_cluster_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(SimulationError, match="cannot be used"):
        sweep(CELLS, Workers(backend=Backend.DASK, cluster="tcp://127.0.0.1:1"))
    with pytest.raises(SimulationError, match="pip install ray"):
        sweep(CELLS, Workers(backend=Backend.RAY))
