"""A demonstration from start to end: what it runs on, what it plays, and that nothing is left of it."""

import asyncio
import time
from pathlib import Path

from cacheroute.demo import files
from cacheroute.demo.board import Board, Phase, rows
from cacheroute.demo.fleet import Fleet, opened
from cacheroute.demo.load import Load, Target
from cacheroute.demo.observer import Observer, condition
from cacheroute.demo.result import Result, damage
from cacheroute.demo.scenario import SHADOW_INTERVAL_SECONDS, DemoOptions, Scenario, Stage
from cacheroute.demo.tally import Fate, Tally
from cacheroute.demo.view import View
from cacheroute.demo.workload import Prompts

DRAW_SECONDS = 0.5


async def run(options: DemoOptions, view: View, folder: Path) -> Result:
    """Run all phases; whatever happens, every process is ended.

    Args:
        options: what was chosen.
        view: shows it.
        folder: for logs and files; it exists.

    Raises:
        DemoError: a part failed.
    """
    started = time.monotonic()
    try:
        async with opened(folder, options.engines, options.cache_blocks, view.say) as parts:
            return await _play(options, view, parts, started)
    finally:
        view.end_phase()


async def _play(options: DemoOptions, view: View, parts: tuple[Fleet, Observer], started: float) -> Result:
    fleet, observer = parts
    files.write_plan(fleet.plan_file, options.plan_file("Shadow", SHADOW_INTERVAL_SECONDS))
    await fleet.start(observer, view.say)
    tally = Tally()
    target = Target(f"http://{fleet.addresses.gateway}", files.MODEL, options.shape.answer)
    stage = Stage(
        fleet, observer, Load(target, Prompts(options.shape, options.seed), tally.add), tally, view.say
    )
    screen = Screen(stage, view)
    scenario = Scenario(options, stage, screen.next_phase)
    drawing = asyncio.create_task(screen.draw())
    try:
        flat = await scenario.flat()
        await scenario.activate()
        planned = await scenario.planned()
        failover = await scenario.failover()
    finally:
        drawing.cancel()
    return Result(
        flat=flat,
        planned=planned,
        failover=failover,
        damage=damage(tally.records),
        tenants=len({one.tenant for one in tally.records if one.fate is Fate.ANSWERED}),
        seconds=time.monotonic() - started,
        setup=options.document(),
    )


class Screen:
    """Draws the phase that runs."""

    def __init__(self, stage: Stage, view: View) -> None:
        self._stage, self._view = stage, view
        self._phase: Phase | None = None
        self._began = 0.0

    def next_phase(self, phase: Phase | None) -> None:
        """Draw this phase from now on; None for nothing."""
        self._view.end_phase()
        self._phase, self._began = phase, time.monotonic()

    async def draw(self) -> None:
        """Draw until cancelled."""
        while True:
            await asyncio.sleep(DRAW_SECONDS)
            plan = await self._plan()
            if self._phase is not None:
                self._view.update(self._board(self._phase, plan))

    def _board(self, phase: Phase, plan: str) -> Board:
        stage = self._stage
        seconds = time.monotonic() - self._began
        running = {name: stage.fleet.running(name) for name in stage.fleet.engines}
        records = stage.tally.phase(phase.name)
        return Board(phase, seconds, plan, rows(records, running, seconds), stage.tally.fates)

    async def _plan(self) -> str:
        status = await self._stage.observer.status()
        version = status.get("plan", {}).get("version", "")
        shadow = condition(status, "Planned") == "Shadow"
        return f"{version} (not routed yet)" if version and shadow else version
