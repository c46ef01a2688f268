"""The phases: flat, planned, a killed engine and its return."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cacheroute.demo import files
from cacheroute.demo.board import Phase
from cacheroute.demo.errors import DemoError
from cacheroute.demo.fleet import Fleet
from cacheroute.demo.load import Load
from cacheroute.demo.observer import Observer, condition
from cacheroute.demo.result import Failover
from cacheroute.demo.tally import Figures, Tally, figures
from cacheroute.demo.workload import Shape, arrivals, shares
from cacheroute.domain.movement import moved, served_by
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PolicyName

WAIT_SECONDS = 30.0
POLL_SECONDS = 0.1
SHADOW_INTERVAL_SECONDS = 10
KILL_SECONDS = 24.0
"""Length of the phase in which an engine is killed."""
KILL_AFTER_SECONDS = 5.0
AWAY_SECONDS = 4.0
"""How long the engine stays away once the plan is repaired."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What can be chosen.

    Attributes:
        engines: number of simulated vLLM engines.
        tenants: number of tenants.
        rate: requests/s of all tenants.
        seconds: measured seconds of the flat and of the planned phase.
        warmup_seconds: seconds in front of each that only warm the caches: enough for flat to settle.
        seed: of tenants, prompts and arrivals.
        shape: sizes of prompts and answers.
    """

    engines: int = 6
    tenants: int = 900
    rate: float = 64.0
    seconds: float = 30.0
    warmup_seconds: float = 20.0
    seed: int = 1
    shape: Shape = field(default_factory=Shape)

    @property
    def cache_blocks(self) -> int:
        """KV blocks of one engine."""
        return self.shape.cache_blocks(self.tenants, self.engines)

    @property
    def arm_seconds(self) -> float:
        """Length of the flat, and of the planned phase."""
        return self.warmup_seconds + self.seconds

    @property
    def window_seconds(self) -> int:
        """Rate window, and interval once the plan is active.

        There is one plan, made of the rates of the flat phase; the next would come when all is over. A second one could
        move keys for balance, and this shows what a plan gains and what the loss of an engine alone moves.
        """
        return math.ceil(self.arm_seconds + KILL_SECONDS + WAIT_SECONDS)

    def plan_file(self, mode: str, interval_seconds: int) -> files.PlanFile:
        """Return the RoutingPlan to write."""
        warm = self.shape.warm_prefixes(self.tenants, self.engines)
        return files.PlanFile(mode, PolicyName.STABLE, interval_seconds, self.window_seconds, warm)

    def document(self) -> dict[str, float]:
        """Return how the run is set up, as JSON types."""
        return {
            "engines": self.engines,
            "tenants": self.tenants,
            "requestsPerSecond": self.rate,
            "promptTokens": self.shape.prompt,
            "cacheBlocks": self.cache_blocks,
            "blocksNeeded": self.shape.blocks_needed(self.tenants),
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class Stage:
    """What a scenario plays on."""

    fleet: Fleet
    observer: Observer
    load: Load
    tally: Tally
    say: Callable[[str], None]


class Scenario:
    """Plays the phases; ``phase`` is the one that runs, since ``began`` (``time.monotonic``)."""

    def __init__(
        self, options: DemoOptions, stage: Stage, next_phase: Callable[[Phase | None], None]
    ) -> None:
        self._options, self._stage, self._next_phase = options, stage, next_phase
        self._share = shares(options.tenants, options.seed)

    async def flat(self) -> Figures:
        """Measure flat balancing; the plan is made but only reported (mode Shadow)."""
        return await self._arm(
            Phase("flat", "flat: the less loaded of two engines", self._options.arm_seconds)
        )

    async def activate(self) -> None:
        """Put the plan in force and wait until the gateway routes by it."""
        observer, options = self._stage.observer, self._options
        await self._until(self._has_plan, "the first plan")
        before = await observer.status()
        self._stage.say("applying the plan: spec.mode Shadow → Active")
        files.write_plan(self._stage.fleet.plan_file, options.plan_file("Active", options.window_seconds))
        key = str(before["topKeys"][0]["key"])

        async def routed() -> bool:
            status = await observer.status()
            newer = status.get("observedGeneration", 0) > before["observedGeneration"]
            return (
                newer
                and condition(status, "Synced") == "Synced"
                and await observer.decision(key) == "planned"
            )

        await self._until(routed, "the gateway to route by the plan")

    async def planned(self) -> Figures:
        """Measure planned routing on the requests that flat balancing got."""
        return await self._arm(
            Phase("planned", "planned: each tenant on its engine", self._options.arm_seconds)
        )

    async def failover(self) -> Failover:
        """Kill the engine with the most keys under load, and bring it back."""
        before = await self._plan()
        victim = most_keys(before)
        phase = Phase("killed", f"{victim} is killed, then comes back", KILL_SECONDS)
        sending = asyncio.create_task(self._send(phase, self._options.seed + 2))
        try:
            repair_seconds, after = await self._kill(victim)
            await asyncio.sleep(AWAY_SECONDS)
            await self._bring_back(victim)
            await sending
        finally:
            sending.cancel()
        return Failover(
            engine=victim,
            figures=figures(self._stage.tally.phase(phase.name), self._options.engines),
            keys=sum(victim in names for names in served_by(before).values()),
            keys_moved=moved(before, after).keys,
            keys_away=moved(before, await self._plan()).keys,
            repair_seconds=repair_seconds,
        )

    async def _kill(self, victim: str) -> tuple[float, Plan]:
        stage = self._stage
        await asyncio.sleep(KILL_AFTER_SECONDS)
        stage.load.killed.add(victim)
        stage.say(f"killing {victim} with SIGKILL")
        stage.fleet.kill(victim)
        killed = time.monotonic()
        await self._until(lambda: self._seated(victim, wanted=False), "the plan to be repaired")
        return time.monotonic() - killed, await self._plan()

    async def _bring_back(self, victim: str) -> None:
        stage = self._stage
        stage.say(f"starting {victim} again; it takes its keys back")
        await stage.fleet.start_engine(victim)
        await stage.fleet.engine_ready(victim, stage.observer)
        await self._until(lambda: self._seated(victim, wanted=True), "the engine to be back in the plan")

    async def _arm(self, phase: Phase) -> Figures:
        """Run a phase whose schedule depends on the seed alone, so that both arms get the same requests."""
        await self._send(phase, self._options.seed + 1)
        measured = self._stage.tally.phase(phase.name, self._options.warmup_seconds)
        return figures(measured, self._options.engines)

    async def _send(self, phase: Phase, seed: int) -> None:
        rate = self._options.rate
        self._stage.say(f"{phase.title} ({phase.total:.0f} s at {rate:g} requests/s)")
        self._next_phase(phase)
        await self._stage.load.run(phase.name, arrivals(self._share, rate, phase.total, seed))
        self._next_phase(None)
        self._stage.fleet.check()

    async def _has_plan(self) -> bool:
        return bool((await self._stage.observer.status()).get("topKeys"))

    async def _seated(self, name: str, *, wanted: bool) -> bool:
        plan = await self._stage.observer.plan()
        return plan is not None and (name in plan.by_destination()) is wanted

    async def _plan(self) -> Plan:
        plan = await self._stage.observer.plan()
        if plan is None:
            raise DemoError(f"there is no plan in force; {self._stage.fleet.last_words('standalone')}")
        return plan

    async def _until(self, reached: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not await reached():
            self._stage.fleet.check()
            if time.monotonic() > deadline:
                words = self._stage.fleet.last_words("standalone")
                raise DemoError(f"waited {WAIT_SECONDS:.0f} s for {what}; {words}")
            await asyncio.sleep(POLL_SECONDS)


def most_keys(plan: Plan) -> str:
    """Return the destination with the most keys, the first by name among equals."""
    served = served_by(plan)
    counts = {name: sum(name in names for names in served.values()) for name in sorted(plan.by_destination())}
    return max(counts, key=lambda name: counts[name])
