"""The demonstration from start to end: flat, planned, a killed engine, its return."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from cacheroute.demo import files
from cacheroute.demo.block import claim_block
from cacheroute.demo.errors import DemoError
from cacheroute.demo.fleet import Fleet
from cacheroute.demo.load import Load, Target
from cacheroute.demo.result import Result
from cacheroute.demo.tally import Fate, Figures, Tally, figures
from cacheroute.demo.view import View
from cacheroute.demo.workload import Prompts, Shape, arrivals, shares
from cacheroute.domain.movement import moved, served_by
from cacheroute.domain.plan import Plan

WAIT_SECONDS = 30.0
DRAW_SECONDS = 0.25
COMPLAINTS = 3
AFTER_PLANNED_SECONDS = 60


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What can be chosen.

    Attributes:
        engines: number of simulated vLLM engines.
        tenants: number of tenants.
        rate: requests/s of all tenants.
        seconds: measured seconds of the flat and of the planned phase.
        warmup_seconds: seconds in front of each that are not measured.
        seed: of tenants, prompts and arrivals.
        shape: sizes of prompts and answers.
    """

    engines: int = 6
    tenants: int = 600
    rate: float = 48.0
    seconds: float = 30.0
    warmup_seconds: float = 12.0
    seed: int = 1
    shape: Shape = field(default_factory=Shape)

    @property
    def interval_seconds(self) -> int:
        """Control interval once the plan routes: longer than the rest of the run.

        Policy Paper plans from scratch; a second plan would move nearly every key while it is measured.
        """
        return round(2 * (self.warmup_seconds + self.seconds)) + AFTER_PLANNED_SECONDS

    @property
    def cache_blocks(self) -> int:
        """KV blocks of one engine: its share of the tenants, twice, and room for what runs."""
        return 2 * self.shape.blocks_needed(-(-self.tenants // self.engines)) + 1000


class Demo:
    """One run."""

    def __init__(self, options: DemoOptions, view: View, folder: Path) -> None:
        self._options, self._view = options, view
        self._block = claim_block()
        self._fleet = Fleet(folder, self._block, options.engines, options.cache_blocks)
        self._tally = Tally()
        self._share = shares(options.tenants, options.seed)
        target = Target(f"http://{self._fleet.addresses.gateway}", files.MODEL, options.shape.answer)
        self._load = Load(target, Prompts(options.shape, options.seed), self._tally.add)
        self._phase = ""

    async def run(self) -> Result:
        """Run all phases; whatever happens, every process is ended.

        Raises:
            DemoError: a part failed.
        """
        started = time.monotonic()
        drawing = asyncio.create_task(self._draw())
        try:
            await self._fleet.start(self._view.say)
            self._view.start()
            flat = await self._measured("flat: every request to the less loaded of two engines", "flat")
            await self._activate()
            planned = await self._measured("planned: each tenant to its own engine", "planned")
            keys_moved, keys_of_killed = await self._kill_and_return()
        finally:
            drawing.cancel()
            self._view.stop()
            self._view.say("ending all processes")
            await self._fleet.stop()
            self._block.release()
        failed = [one for one in self._tally.records if one.fate is Fate.FAILED]
        return Result(
            flat=flat,
            planned=planned,
            failed_requests=len(failed),
            cut_streams=self._tally.fates[Fate.CUT],
            keys_moved=keys_moved,
            keys_of_killed=keys_of_killed,
            seconds=time.monotonic() - started,
            setup=self._setup(),
            complaints=tuple(f"{one.phase}: {one.complaint}" for one in failed[:COMPLAINTS]),
        )

    async def _measured(self, title: str, phase: str) -> Figures:
        """Run a phase whose schedule depends on the seed alone, so that both arms get the same requests."""
        options = self._options
        await self._send(title, phase, options.warmup_seconds + options.seconds, options.seed + 1)
        return figures(self._tally.phase(phase, options.warmup_seconds), options.engines)

    async def _send(self, title: str, phase: str, seconds: float, seed: int) -> None:
        self._phase = title
        self._view.say(f"{title} ({seconds:.0f} s at {self._options.rate:g} requests/s)")
        await self._load.run(phase, arrivals(self._share, self._options.rate, seconds, seed))
        self._fleet.check()

    async def _activate(self) -> None:
        self._view.say("applying the plan: spec.mode Shadow → Active")
        interval = self._options.interval_seconds
        files.write_plan(self._fleet.plan_file, "Active", interval_seconds=interval, window_seconds=interval)
        await self._until(self._is_active, "the plan to be in force on the gateway")

    async def _is_active(self) -> bool:
        status = await self._fleet.status()
        reasons = {one["type"]: one["reason"] for one in status.get("conditions", [])}
        return reasons.get("Planned") == "InForce" and reasons.get("Synced") == "Synced"

    async def _kill_and_return(self) -> tuple[int, int]:
        """Kill the engine with the most keys under load, and bring it back."""
        before = await self._plan()
        victim = _most_keys(before)
        sending = asyncio.create_task(
            self._send(f"{victim} is killed, later it comes back", "kill", 24.0, 99)
        )
        await asyncio.sleep(5.0)
        self._load.killed.add(victim)
        self._fleet.kill(victim)
        self._view.say(f"killed {victim} with SIGKILL")
        await self._until(lambda: self._repaired(victim), "the plan to be repaired")
        after = await self._plan()
        await asyncio.sleep(4.0)
        self._view.say(f"starting {victim} again; it takes its keys back")
        await self._fleet.start_engine(victim)
        await self._fleet.engine_ready(victim)
        await self._until(lambda: self._seated(victim), "the engine to be back in the plan")
        await sending
        return moved(before, after).keys, sum(victim in names for names in served_by(before).values())

    async def _repaired(self, victim: str) -> bool:
        return victim not in (await self._plan()).by_destination()

    async def _seated(self, victim: str) -> bool:
        return victim in (await self._plan()).by_destination()

    async def _plan(self) -> Plan:
        plan = await self._fleet.plan()
        if plan is None:
            raise DemoError("standalone mode has no plan in force; its log says why")
        return plan

    async def _until(self, condition: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not await condition():
            self._fleet.check()
            if time.monotonic() > deadline:
                raise DemoError(f"waited {WAIT_SECONDS:.0f} s for {what}")
            await asyncio.sleep(0.1)

    async def _draw(self) -> None:
        while True:
            await asyncio.sleep(DRAW_SECONDS)
            if self._phase:
                engines = {name: self._fleet.running(name) for name in self._fleet.engines}
                self._view.update(self._phase, self._tally, engines)

    def _setup(self) -> dict[str, float]:
        options = self._options
        return {
            "engines": options.engines,
            "tenants": options.tenants,
            "requestsPerSecond": options.rate,
            "promptTokens": options.shape.prompt,
            "cacheBlocks": options.cache_blocks,
            "blocksNeeded": options.shape.blocks_needed(options.tenants),
            "seed": options.seed,
        }


def _most_keys(plan: Plan) -> str:
    """Return the destination with the most keys, the first by name among equals."""
    served = served_by(plan)
    counts = {name: sum(name in names for names in served.values()) for name in sorted(plan.by_destination())}
    return max(counts, key=lambda name: counts[name])
