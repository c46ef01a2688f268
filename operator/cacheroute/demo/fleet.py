"""The processes of one run on its own block of loopback addresses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from cacheroute.demo import files
from cacheroute.demo.block import Block
from cacheroute.demo.errors import DemoError
from cacheroute.demo.supervisor import Process, Supervisor
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document

ENGINE_PORT = 8000
FIRST_ENGINE = 11
BLOCK_SIZE = 16


@dataclass(frozen=True, slots=True)
class Addresses:
    """HOST:PORT of everything but the engines."""

    gateway: str
    stats: str
    admin: str
    xds: str
    http: str


class Fleet:
    """Engines, the gateway and standalone mode."""

    def __init__(self, folder: Path, block: Block, engines: int, cache_blocks: int) -> None:
        self._supervisor = Supervisor(folder)
        self._folder, self._cache_blocks = folder, cache_blocks
        self._engines = {f"engine-{i}": block.address(FIRST_ENGINE + i) for i in range(engines)}
        self.addresses = Addresses(
            gateway=f"{block.address(2)}:8080",
            stats=f"{block.address(2)}:9902",
            admin=f"{block.address(2)}:9901",
            xds=f"{block.address(3)}:18000",
            http=f"{block.address(3)}:8081",
        )
        self._processes: dict[str, Process] = {}
        self._session: aiohttp.ClientSession | None = None

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines."""
        return tuple(self._engines)

    @property
    def plan_file(self) -> Path:
        """Where the RoutingPlan stands."""
        return self._folder / "plan.yaml"

    def running(self, name: str) -> bool:
        """Whether a process runs."""
        return self._processes[name].running

    async def start(self, say: Any) -> None:
        """Start everything and wait until the gateway routes.

        Raises:
            DemoError: a part did not start; the message has the last lines of its log.
        """
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5))
        say(f"starting {len(self._engines)} simulated vLLM engines")
        for name in self._engines:
            await self.start_engine(name)
        files.write_plan(self.plan_file, "Shadow", interval_seconds=10, window_seconds=60)
        files.write_destinations(self._folder / "destinations.yaml", self._engines, ENGINE_PORT)
        say("starting standalone mode (the operator without Kubernetes) and an Envoy gateway")
        await self._start("standalone", *self._standalone())
        await self._start("gateway", *self._gateway())
        await self._processes["standalone"].until(
            lambda: self._answers(f"http://{self.addresses.http}/readyz")
        )
        await self._processes["gateway"].until(
            lambda: self._answers(f"http://{self.addresses.gateway}/v1/models")
        )
        for name in self._engines:
            await self.engine_ready(name)
        await self._processes["standalone"].until(self._all_destinations)

    async def start_engine(self, name: str) -> None:
        """Start an engine, or start it again."""
        await self._start(
            name,
            *("engine", "--host", self._engines[name], "--port", str(ENGINE_PORT), "--model", files.MODEL),
            *("--block-size", str(BLOCK_SIZE), "--num-gpu-blocks-override", str(self._cache_blocks)),
            *("--engine-model", "70b-fp8", "--max-model-len", "4096"),
        )

    async def engine_ready(self, name: str) -> None:
        """Wait until an engine answers."""
        url = f"http://{self._engines[name]}:{ENGINE_PORT}/health"
        await self._processes[name].until(lambda: self._answers(url))

    def kill(self, name: str) -> None:
        """Kill a process as a crash would."""
        self._processes[name].kill()

    async def status(self) -> dict[str, Any]:
        """Return the status of the RoutingPlan, empty before the first."""
        plans = (await self._get(f"http://{self.addresses.http}/status"))["plans"]
        return dict(plans[0]["status"]) if plans else {}

    async def plan(self) -> Plan | None:
        """Return the plan in force, None before the first."""
        document = await self._get(f"http://{self.addresses.http}/plans/{files.NAMESPACE}/{files.NAME}")
        return None if "error" in document else from_document(document)

    async def stop(self) -> None:
        """End everything."""
        if self._session is not None:
            await self._session.close()
        await self._supervisor.stop()

    def check(self) -> None:
        """Raise DemoError where the gateway or standalone mode has ended by itself."""
        for name in ("gateway", "standalone"):
            if not self.running(name):
                raise DemoError(f"{name} has ended; {self._processes[name].last_words()}")

    async def _start(self, name: str, *arguments: str) -> None:
        if name not in self._processes:
            self._processes[name] = self._supervisor.add(name, *arguments)
        await self._processes[name].start()

    def _standalone(self) -> tuple[str, ...]:
        return (
            *("standalone", "--file", str(self.plan_file)),
            *(
                "--destinations",
                str(self._folder / "destinations.yaml"),
                "--state",
                str(self._folder / "state"),
            ),
            *("--xds-bind", self.addresses.xds, "--http-bind", self.addresses.http),
            *("--gateway-stats", f"http://{self.addresses.stats}/stats/prometheus"),
        )

    def _gateway(self) -> tuple[str, ...]:
        return (
            *("gateway", "run", "--gateway", "default", "--node", "demo-envoy", "--xds", self.addresses.xds),
            *(
                "--listen",
                self.addresses.gateway,
                "--stats",
                self.addresses.stats,
                "--admin",
                self.addresses.admin,
            ),
        )

    async def _answers(self, url: str) -> bool:
        try:
            async with self._http().get(url) as answer:
                return answer.status == 200  # noqa: PLR2004 - HTTP 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def _all_destinations(self) -> bool:
        status = await self.status()
        return bool(status) and status.get("destinations", {}).get("ready") == len(self._engines)

    async def _get(self, url: str) -> Any:
        async with self._http().get(url) as answer:
            return await answer.json()

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise DemoError("the fleet was not started")
        return self._session
