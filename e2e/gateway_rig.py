"""A gateway on loopback: the ADS server in this process, a real Envoy, and destinations that can be killed."""

import asyncio
import contextlib
import itertools
import os
import random
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cacheroute.cli.gateway import envoy_command
from cacheroute.domain.failover import FailoverSpec, LimitsSpec
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import Endpoint, RoutingTable, TableGroup
from cacheroute.proxy.bootstrap import BootstrapSettings, Place
from cacheroute.proxy.envoy_binary import find_or_fetch
from cacheroute.proxy.errors import GatewayError
from cacheroute.proxy.server import AdsServer
from cacheroute.proxy.settings import GatewaySettings
from cacheroute.proxy.tuning import Tuning

DEADLINE = 20.0
GATEWAY = "default"
SOURCES = (
    KeySource(KeySourceKind.HEADER, "x-tenant-id"),
    KeySource(KeySourceKind.COOKIE, "tenant"),
    KeySource(KeySourceKind.BODY_FIELD, "user"),
    KeySource(KeySourceKind.BODY_FIELD, "metadata.user_id"),
)
RESERVED = "x-cacheroute-"
_PORTS = range(20_000, 30_000)
"""Below NodePorts and what Linux gives to connections and to whom asks for any port (net.ipv4.ip_local_port_range)."""
PLAIN = GatewaySettings()


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition, at most DEADLINE seconds."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not condition():  # noqa: ASYNC110  the other side is a process
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"{what}: not after {DEADLINE:.0f} s")


def envoy_program() -> Path:
    """Return the Envoy to test with; where there is none the suite fails in CI and is skipped elsewhere."""
    try:
        return find_or_fetch(None, os.environ, _say)
    except GatewayError as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def table(
    endpoints: tuple[Endpoint, ...],
    groups: tuple[TableGroup, ...] = (),
    name: str = "llama",
    models: tuple[str, ...] = ("llama",),
    failover: FailoverSpec | None = None,
    limits: LimitsSpec | None = None,
    sources: tuple[KeySource, ...] = SOURCES,
) -> RoutingTable:
    """Return the table of one plan."""
    return RoutingTable(
        ref=PlanRef("inference", name),
        version=f"version-of-{name}",
        models=models,
        key_sources=sources,
        max_key_length=64,
        endpoints=endpoints,
        groups=groups,
        failover=failover or FailoverSpec(),
        limits=limits or LimitsSpec(),
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client got."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def destination(self) -> str | None:
        """Who answered, by its own account of the gateway."""
        return self.headers.get(f"{RESERVED}destination")

    @property
    def decision(self) -> str | None:
        """How the gateway says it chose."""
        return self.headers.get(f"{RESERVED}decision")


@dataclass
class Backend:
    """A destination's process."""

    name: str
    process: asyncio.subprocess.Process
    port: int
    host: str = "127.0.0.1"

    def endpoint(self, seat: int | None = None, *, draining: bool = False) -> Endpoint:
        """Return it as the table has it."""
        return Endpoint(self.name, self.host, self.port, draining, seat)

    async def kill(self) -> None:
        """Kill it without notice."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


@dataclass
class Rig:
    """Everything of one test."""

    ads: AdsServer
    xds_port: int
    client: aiohttp.ClientSession
    listen: Place
    stats: Place
    admin: Place
    scheme: str = "http"
    command: list[str] = field(default_factory=list)
    envoy: asyncio.subprocess.Process | None = None
    backends: list[Backend] = field(default_factory=list)

    async def start_envoy(self) -> None:
        """Start Envoy, in the place of one that is running."""
        if self.envoy is not None:
            self.envoy.kill()
            await self.envoy.wait()
        self.envoy = await asyncio.create_subprocess_exec(*self.command)

    async def publish(self, *tables: RoutingTable) -> str:
        """Publish and wait until Envoy has it all."""
        version = self.ads.publish(GATEWAY, tables)
        await self.synced()
        return version

    async def synced(self) -> None:
        """Wait until the one Envoy has acknowledged the snapshot."""
        await until(lambda: self.ads.status(GATEWAY).synced == 1, "Envoy has the snapshot")

    async def restart_ads(self, *tables: RoutingTable) -> str:
        """Replace the ADS server by one that knows nothing but these tables."""
        await self.ads.stop()
        self.ads = AdsServer(lambda _gateway: None)
        version = self.ads.publish(GATEWAY, tables)
        await self.ads.start(f"127.0.0.1:{self.xds_port}")
        await self.synced()
        return version

    async def post(
        self, body: Any, headers: Mapping[str, str] | None = None, path: str = "/v1/completions"
    ) -> Answer:
        """Send one request; ``body`` may be bytes."""
        content = {"data": body} if isinstance(body, bytes) else {"json": body}
        return await self.request("POST", path, headers=headers, **content)

    async def ask(self, user: str, **more: Any) -> Answer:
        """Send a request of one tenant."""
        return await self.post({"model": "llama", "user": user, **more})

    async def answered_by(self, user: str, destination: str) -> Answer:
        """Ask until a destination answers, such as one that has just been made known: its first check comes first."""
        async with asyncio.timeout(DEADLINE):
            while (answer := await self.ask(user)).destination != destination:
                assert answer.status == 200
                await asyncio.sleep(0.01)
        return answer

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        """Send one request of any kind."""
        url = f"{self.scheme}://{self.listen.host}:{self.listen.port}{path}"
        async with self.client.request(method, url, **options) as answer:
            return Answer(answer.status, answer.headers, await answer.text())

    async def page(self, place: Place, path: str) -> str:
        """Return a page of the administration or of the stats listener."""
        async with self.client.get(f"http://{place.host}:{place.port}{path}") as answer:
            return await answer.text()

    async def counted(self, name: str) -> dict[tuple[str, str, str], float]:
        """Return a counter by (plan, key, decision)."""
        text = await self.page(self.stats, "/stats/prometheus")
        return {
            (sample.labels["plan"], sample.labels["routing_key"], sample.labels["decision"]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name.removesuffix("_total") == name
        }

    async def counted_by_arm(self, name: str) -> dict[tuple[str, str], float]:
        """Return a counter by (plan, arm)."""
        text = await self.page(self.stats, "/stats/prometheus")
        return {
            (sample.labels["plan"], sample.labels["arm"]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name.removesuffix("_total") == name and "le" not in sample.labels
        }

    async def counted_requests(self, number: int) -> dict[tuple[str, str, str], float]:
        """Wait until so many requests are counted, which is after their answers, and return them."""
        async with asyncio.timeout(DEADLINE):
            while True:
                requests = await self.counted("envoy_cacheroute_requests")
                if sum(requests.values()) >= number:
                    return requests
                await asyncio.sleep(0.01)

    async def stat(self, name: str) -> int:
        """Return one of Envoy's own numbers."""
        text = await self.page(self.admin, f"/stats?filter=^{re.escape(name)}$")
        return int(text.rpartition(":")[2])


@contextlib.asynccontextmanager
async def gateway(
    backends: int,
    eviction_seconds: int = 900,
    *,
    wanted: GatewaySettings = PLAIN,
    tuning: Tuning | None = None,
    max_heap_bytes: int = 0,
) -> AsyncIterator[Rig]:
    """Run a gateway with so many destinations and no plan yet; it takes bodies, tokens and TLS as ``wanted``."""
    program = envoy_program()
    async with contextlib.AsyncExitStack() as stack:
        ads = AdsServer(lambda _gateway: None, tuning)
        xds_port = await ads.start("127.0.0.1:0")
        client = await stack.enter_async_context(aiohttp.ClientSession(trust_env=False))
        scheme = "http" if wanted.tls is None else "https"
        listen, stats, admin = free_places(3)
        rig = Rig(ads, xds_port, client, listen, stats, admin, scheme)
        stack.push_async_callback(_stop, rig)
        rig.backends.extend([await _backend(f"pod-{number}") for number in range(backends)])
        settings = BootstrapSettings(
            GATEWAY,
            "envoy-1",
            Place("127.0.0.1", xds_port),
            rig.listen,
            rig.stats,
            rig.admin,
            eviction_seconds=eviction_seconds,
            max_body_bytes=wanted.max_body_bytes,
            max_heap_bytes=max_heap_bytes,
            jwt=wanted.jwt,
            client_tls=wanted.tls,
        )
        rig.command = envoy_command(program, settings, concurrency=1, log_level="error")
        await rig.start_envoy()
        yield rig


async def start_backend(rig: Rig, name: str) -> Backend:
    """Start one more destination."""
    rig.backends.append(await _backend(name))
    return rig.backends[-1]


def drained(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint as one that takes nothing new."""
    return replace(endpoint, draining=True, seat=None)


async def _stop(rig: Rig) -> None:
    if rig.envoy is not None:
        with contextlib.suppress(ProcessLookupError):
            rig.envoy.terminate()
        await asyncio.wait_for(rig.envoy.wait(), DEADLINE)
    for backend in rig.backends:
        await backend.kill()
    await rig.ads.stop()


async def _backend(name: str) -> Backend:
    script = str(Path(__file__).with_name("gateway_backend.py"))
    process = await asyncio.create_subprocess_exec(sys.executable, script, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), DEADLINE)
    return Backend(name, process, int(line))


def free_places(number: int) -> list[Place]:
    """Return different addresses on loopback that nobody listens on and that no connection is given meanwhile."""
    ports = random.SystemRandom().sample(_PORTS, len(_PORTS))
    return [Place("127.0.0.1", port) for port in itertools.islice(filter(_is_free, ports), number)]


def _is_free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False
