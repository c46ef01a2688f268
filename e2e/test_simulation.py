"""The compiled fleet against real parts: simulated engines behind the real gateway serve the same requests."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cacheroute.demo import files
from cacheroute.demo.fleet import opened
from cacheroute.demo.load import Load, Target
from cacheroute.demo.scenario import SHADOW_INTERVAL_SECONDS, DemoOptions, Scenario, Stage
from cacheroute.demo.tally import Fate, Figures, Tally
from cacheroute.demo.workload import BLOCK_SIZE, Prompts, arrivals, shares
from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS
from cacheroute.simulation.fleet.figures import FleetFigures, fleet_figures
from cacheroute.simulation.fleet.simulate import FleetSettings, simulate
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.workloads.tenants import Prompts as Parts
from cacheroute.simulation.workloads.tenants import requests_of
from e2e.gateway_rig import envoy_program

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(300)]
OPTIONS = DemoOptions(engines=4, tenants=200, rate=24.0, seconds=25.0, warmup_seconds=15.0)
HIT_POINTS, MEDIAN_SHARE = 2.0, 0.2


@dataclass(frozen=True, slots=True)
class Live:
    """What the real parts gave."""

    flat: Figures
    planned: Figures
    prompt_tokens: int


async def live(folder: Path) -> Live:
    """Run the flat and the planned arm of the demonstration."""
    async with opened(folder, OPTIONS.engines, OPTIONS.cache_blocks, print) as (fleet, observer):
        files.write_plan(fleet.plan_file, OPTIONS.plan_file("Shadow", SHADOW_INTERVAL_SECONDS))
        await fleet.start(observer, print)
        tally = Tally()
        target = Target(f"http://{fleet.addresses.gateway}", files.MODEL, OPTIONS.shape.answer)
        load = Load(target, Prompts(OPTIONS.shape, OPTIONS.seed), tally.add)
        scenario = Scenario(OPTIONS, Stage(fleet, observer, load, tally, print), lambda _phase: None)
        flat = await scenario.flat()
        await scenario.activate()
        planned = await scenario.planned()
    assert all(one.fate is Fate.ANSWERED for one in tally.records)
    return Live(flat, planned, tally.records[0].prompt_tokens)


def requests(prompt_tokens: int) -> Work:
    """Return the arm's requests: the template's tokens that the server adds are shared like the template itself."""
    shape = OPTIONS.shape
    sent = arrivals(
        shares(OPTIONS.tenants, OPTIONS.seed), OPTIONS.rate, OPTIONS.arm_seconds, OPTIONS.seed + 1
    )
    own = prompt_tokens - shape.shared - shape.context + shape.answer
    parts = Parts(shape.shared, shape.context, 0, 1, own - 1, output=1)
    work = requests_of(sent.seconds, sent.tenant, parts, np.random.default_rng(0), BLOCK_SIZE)
    return work._replace(
        prompt=np.full(work.arrival.size, prompt_tokens), output=np.full(work.arrival.size, shape.answer)
    )


def simulated(work: Work, *, planned: bool) -> FleetFigures:
    """Return what the compiled fleet gives for the same requests.

    The planned arm comes after the flat one: it has the plan of that one's rates, and finds what that one left in the
    caches.
    """
    warm = OPTIONS.shape.warm_prefixes(OPTIONS.tenants, OPTIONS.engines)
    arm = OPTIONS.arm_seconds
    settings = FleetSettings(
        policy=Policy.PLANNED if planned else Policy.FLAT,
        destinations=OPTIONS.engines,
        limits=EngineLimits(blocks=OPTIONS.cache_blocks, block_size=BLOCK_SIZE),
        costs=SERVING_MODELS["70b-fp8"].costs,
        plan=PlanSettings(Planner.STABLE, float(files.REQUESTS_PER_SECOND), warm, arm, arm)
        if planned
        else None,
    )
    served = both_arms(work) if planned else work
    begin = OPTIONS.warmup_seconds + (arm if planned else 0.0)
    return fleet_figures(served, simulate(served, settings), OPTIONS.engines, begin)


def both_arms(work: Work) -> Work:
    """Return the requests twice, one arm after the other: the second finds what the first left in the caches."""
    blocks, size = work.first_block[-1], work.arrival.size
    turns = work.contents >> 56 == 4
    again = np.where(turns, work.contents + (np.int64(size) << 16), work.contents)
    return Work(
        arrival=np.concatenate((work.arrival, work.arrival + OPTIONS.arm_seconds)),
        key=np.tile(work.key, 2),
        session=np.arange(2 * size),
        prompt=np.tile(work.prompt, 2),
        output=np.tile(work.output, 2),
        first_block=np.concatenate((work.first_block, work.first_block[1:] + blocks)),
        contents=np.concatenate((work.contents, again)),
    )


def test_the_compiled_fleet_gives_what_real_parts_give(tmp_path: Path) -> None:
    envoy_program()
    real = asyncio.run(live(tmp_path))
    work = requests(real.prompt_tokens)
    for name, one, planned in (("flat", real.flat, False), ("planned", real.planned, True)):
        model = simulated(work, planned=planned)
        print(
            f"{name}: hit {one.hit_percent:.1f} % live, {100 * model.token_hit:.1f} % simulated; p50 TTFT "
            f"{one.ttft_p50_ms:.1f} ms live, {1000 * model.ttft_p50:.1f} ms simulated; generator late by {one.lag_p99_ms:.1f} ms"
        )
        assert 100 * model.token_hit == pytest.approx(one.hit_percent, abs=HIT_POINTS)
        assert 1000 * model.ttft_p50 == pytest.approx(one.ttft_p50_ms, rel=MEDIAN_SHARE)
    assert real.planned.hit_percent > real.flat.hit_percent
    assert real.planned.ttft_p50_ms < real.flat.ttft_p50_ms
