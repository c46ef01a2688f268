"""The processes of one run on its own block of loopback addresses."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cacheroute.demo import files
from cacheroute.demo.block import Block, claim_block
from cacheroute.demo.observer import Observer, condition
from cacheroute.demo.supervisor import Process, Supervisor
from cacheroute.demo.workload import BLOCK_SIZE
from cacheroute.domain.rates import RatesReason

ENGINE_PORT = 8000
FIRST_ENGINE = 11
MAX_MODEL_LENGTH = 2048
OWN_PROCESSES = ("standalone", "gateway")


@dataclass(frozen=True, slots=True)
class Addresses:
    """HOST:PORT of everything but the engines."""

    gateway: str
    stats: str
    admin: str
    xds: str
    http: str


def addresses(block: Block) -> Addresses:
    """Return the addresses in a block."""
    gateway, operator = block.address(2), block.address(3)
    return Addresses(
        gateway=f"{gateway}:8080",
        stats=f"{gateway}:9902",
        admin=f"{gateway}:9901",
        xds=f"{operator}:18000",
        http=f"{operator}:8081",
    )


@asynccontextmanager
async def opened(
    folder: Path, engines: int, cache_blocks: int, say: Callable[[str], None]
) -> "AsyncIterator[tuple[Fleet, Observer]]":
    """Prepare a fleet on a block of its own, with who observes it; whatever happens, every process is ended.

    Args:
        folder: for logs and files; it exists.
        engines: how many.
        cache_blocks: KV blocks of each.
        say: takes a line of progress.

    Raises:
        DemoError: there is no free block of addresses.
    """
    block = claim_block(random.SystemRandom())
    fleet = Fleet(folder, block, engines, cache_blocks)
    at = fleet.addresses
    try:
        async with Observer(f"http://{at.http}", f"http://{at.gateway}") as observer:
            yield fleet, observer
    finally:
        say("ending all processes")
        await fleet.stop()
        block.release()


class Fleet:
    """Engines, the gateway and standalone mode."""

    def __init__(self, folder: Path, block: Block, engines: int, cache_blocks: int) -> None:
        self._supervisor = Supervisor(folder)
        self._folder, self._cache_blocks = folder, cache_blocks
        self._engines = {f"engine-{i}": block.address(FIRST_ENGINE + i) for i in range(engines)}
        self.addresses = addresses(block)
        self.plan_file = folder / "plan.yaml"
        self._processes = self._prepared()

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines."""
        return tuple(self._engines)

    def running(self, name: str) -> bool:
        """Whether a process runs."""
        return self._processes[name].running

    async def start(self, observer: Observer, say: Callable[[str], None]) -> None:
        """Start everything and wait until the gateway routes; ``plan_file`` must be there.

        Raises:
            DemoError: a part did not start; the message has the last lines of its log.
        """
        files.write_destinations(self._folder / "destinations.yaml", self._engines, ENGINE_PORT)
        say(f"starting {len(self._engines)} simulated vLLM engines")
        for name in self._engines:
            await self._processes[name].start()
        for name in self._engines:
            await self.engine_ready(name, observer)
        say("starting standalone mode (the operator without Kubernetes)")
        await self._started("standalone", observer, f"http://{self.addresses.http}/healthz")
        say("starting the gateway (Envoy)")
        await self._started("gateway", observer, f"http://{self.addresses.gateway}/v1/models")
        await self._processes["standalone"].until(lambda: self._all_ready(observer))

    async def start_engine(self, name: str) -> None:
        """Start an engine again."""
        await self._processes[name].start()

    async def engine_ready(self, name: str, observer: Observer) -> None:
        """Wait until an engine answers."""
        url = f"http://{self._engines[name]}:{ENGINE_PORT}/health"
        await self._processes[name].until(lambda: observer.answers(url))

    async def counters_read(self, observer: Observer) -> None:
        """Wait until the operator reads the gateway's counters: from then on it can measure rates."""

        async def read() -> bool:
            reason = condition(await observer.status(), "RatesAvailable")
            return reason in {RatesReason.PARTIAL, RatesReason.EMPTY}

        await self._processes["standalone"].until(read)

    def kill(self, name: str) -> None:
        """Kill a process as a crash would."""
        self._processes[name].kill()

    def check(self) -> None:
        """Raise DemoError where the gateway or standalone mode has ended by itself."""
        for name in OWN_PROCESSES:
            self._processes[name].check()

    def last_words(self, name: str) -> str:
        """Return the last lines of a process's log."""
        return self._processes[name].last_words()

    async def stop(self) -> None:
        """End everything."""
        await self._supervisor.stop()

    async def _started(self, name: str, observer: Observer, url: str) -> None:
        await self._processes[name].start()
        await self._processes[name].until(lambda: observer.answers(url))

    async def _all_ready(self, observer: Observer) -> bool:
        status = await observer.status()
        return bool(status.get("destinations", {}).get("ready") == len(self._engines))

    def _prepared(self) -> dict[str, Process]:
        add, at = self._supervisor.add, self.addresses
        engines = {name: add(name, *self._engine(host)) for name, host in self._engines.items()}
        destinations, state = str(self._folder / "destinations.yaml"), str(self._folder / "state")
        standalone = (
            *("standalone", "--file", str(self.plan_file), "--destinations", destinations, "--state", state),
            *("--xds-bind", at.xds, "--http-bind", at.http),
            *("--gateway-stats", f"http://{at.stats}/stats/prometheus"),
        )
        gateway = (
            *("gateway", "run", "--gateway", "default", "--node", "demo-envoy", "--xds", at.xds),
            *("--listen", at.gateway, "--stats", at.stats, "--admin", at.admin),
        )
        return engines | {
            "standalone": add("standalone", *standalone),
            "gateway": add("gateway", *gateway),
        }

    def _engine(self, host: str) -> tuple[str, ...]:
        return (
            *("engine", "--host", host, "--port", str(ENGINE_PORT), "--model", files.MODEL),
            *("--block-size", str(BLOCK_SIZE), "--num-gpu-blocks-override", str(self._cache_blocks)),
            *("--engine-model", "70b-fp8", "--max-model-len", str(MAX_MODEL_LENGTH)),
        )
