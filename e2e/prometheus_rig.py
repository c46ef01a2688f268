"""A real Prometheus on loopback, counters for it to scrape, and a server that answers as it is told."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from aiohttp import web

from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.rates import RatesOutcome
from cacheroute.domain.spec import PlanRef, PlanSpec, RatesSpec
from cacheroute.prom.source import PrometheusOptions, PrometheusRates
from e2e.harness import binaries

DEADLINE = 30.0
WINDOW_SECONDS = 5
SPEC = PlanSpec(
    ref=PlanRef("inference", "llama"),
    generation=1,
    created=1.0,
    gateway="default",
    models=("llama",),
    pools=(),
    key_sources=(KeySource(KeySourceKind.HEADER, "x-tenant-id"),),
    rates=RatesSpec(WINDOW_SECONDS, min_coverage_percent=50),
)
_CONFIGURATION = """
global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs:
- job_name: gateways
  metrics_path: /stats/prometheus
  static_configs: [{{targets: ["{target}"]}}]
"""


def spec(ref: PlanRef = SPEC.ref, window_seconds: int = WINDOW_SECONDS) -> PlanSpec:
    """Return a plan's spec."""
    return replace(SPEC, ref=ref, rates=replace(SPEC.rates, window_seconds=window_seconds))


@dataclass
class Counters:
    """An Envoy's page of counters that rise steadily.

    Attributes:
        rates: requests/s by plan and key; every request has 100 prompt tokens, 40 of them cached.
        live: whether the page is answered.
        dropped: additions/s that the proxy drops.
    """

    rates: Mapping[tuple[str, str], float]
    live: bool = True
    dropped: float = 0.0
    url: str = ""
    _started: float = field(default_factory=time.monotonic)

    async def page(self, _: web.Request) -> web.Response:
        """Answer a scrape."""
        if not self.live:
            raise web.HTTPServiceUnavailable
        age = time.monotonic() - self._started
        lines = [
            'envoy_server_live{cacheroute_gateway="default"} 1',
            f"envoy_server_stats_overflow_counter{{}} {int(self.dropped * age)}",
        ]
        for (plan, key), rate in self.rates.items():
            labels = f'plan="{_escaped(plan)}",routing_key="{_escaped(key)}",decision="cold"'
            for name, each in (("requests", 1), ("prompt_tokens", 100), ("cached_tokens", 40)):
                lines.append(f"envoy_cacheroute_{name}{{{labels}}} {int(rate * age) * each}")
        for plan in sorted({plan for plan, _ in self.rates}):
            lines.extend(self._arms(plan, age))
        return web.Response(text="\n".join(lines) + "\n")

    def _arms(self, plan: str, age: float) -> list[str]:
        """Return nine tenths of a plan's requests as planned ones at 80 ms, the rest as flat ones at 300 ms."""
        total = int(age * sum(rate for (name, _), rate in self.rates.items() if name == plan))
        lines = []
        for arm, share, milliseconds in (("plan", 0.9, 80), ("flat", 0.1, 300)):
            labels, count = f'plan="{_escaped(plan)}",arm="{arm}"', total * share
            for name, each in (
                ("requests", 1),
                ("prompt_tokens", 100),
                ("cached_tokens", 40),
                ("errors", 0.01),
            ):
                lines.append(f"envoy_cacheroute_arm_{name}{{{labels}}} {count * each}")
            for bound in (50, 100, 200, 400):
                seen = count if milliseconds < bound else 0
                lines.append(f'envoy_cacheroute_arm_ttft_milliseconds_bucket{{{labels},le="{bound}"}} {seen}')
            lines.append(f'envoy_cacheroute_arm_ttft_milliseconds_bucket{{{labels},le="+Inf"}} {count}')
        return lines


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@contextlib.asynccontextmanager
async def exporting(counters: Counters) -> AsyncIterator[Counters]:
    """Serve counters on a port of their own."""
    app = web.Application()
    app.router.add_get("/stats/prometheus", counters.page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        counters.url = f"http://127.0.0.1:{runner.addresses[0][1]}/stats/prometheus"
        yield counters
    finally:
        await runner.cleanup()


@dataclass
class Prometheus:
    """A running Prometheus."""

    url: str
    process: asyncio.subprocess.Process

    def rates(self, timeout_seconds: float = 5.0, path: str = "") -> PrometheusRates:
        """Return the source of rates that asks it."""
        return PrometheusRates(PrometheusOptions(self.url + path, timeout_seconds=timeout_seconds))


@contextlib.asynccontextmanager
async def prometheus(folder: Path, counters: Counters) -> AsyncIterator[Prometheus]:
    """Run a Prometheus that scrapes the counters; it is killed at the end if it still runs."""
    program = await asyncio.to_thread(binaries.program, "prometheus")
    configuration = folder / "prometheus.yml"
    target = counters.url.split("/")[2]
    await asyncio.to_thread(configuration.write_text, _CONFIGURATION.format(target=target), "utf-8")
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        program,
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    )
    try:
        yield Prometheus(f"http://127.0.0.1:{port}", process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def until(
    ask: Callable[[], Awaitable[RatesOutcome]], fits: Callable[[RatesOutcome], bool]
) -> RatesOutcome:
    """Ask until the answer fits, and return it; fails with the last answer after DEADLINE seconds."""
    last: RatesOutcome | None = None
    try:
        async with asyncio.timeout(DEADLINE):
            while True:
                last = await ask()
                if fits(last):
                    return last
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"after {DEADLINE:.0f} s still {last}") from None


@contextlib.asynccontextmanager
async def answering(
    script: Callable[[asyncio.StreamWriter], Awaitable[None]], heard: list[str] | None = None
) -> AsyncIterator[str]:
    """Answer every request by a script, and give the URL; what was asked is added to ``heard``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            if heard is not None:
                heard.append(request.decode())
            await script(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
