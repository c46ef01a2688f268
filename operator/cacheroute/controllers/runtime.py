"""Runs the loop with its servers until it is told to stop; Kubernetes and standalone mode differ only in ports."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from cacheroute.controllers.addresses import Address
from cacheroute.controllers.coordinator import Coordinator
from cacheroute.controllers.http import Views, application, serve
from cacheroute.controllers.ports import ViewableReporter
from cacheroute.prom.metrics import Metrics
from cacheroute.proxy.server import AdsServer
from cacheroute.proxy.xds_server_tls import XdsServerTls

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the process can be reached.

    Attributes:
        xds: for proxies.
        http: for probes, metrics and status.
        xds_tls: certificates of xDS; None for plain text.
    """

    xds: Address
    http: Address
    xds_tls: XdsServerTls | None = None


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that runs.

    Attributes:
        coordinator: the loop.
        ads: serves the proxies.
        reporter: what /status shows.
        metrics: what /metrics shows.
        servers: where they bind.
        background: started beside the loop; any of them ending is an error.
        prepare: awaited before the loop starts; liveness answers meanwhile, readiness does not.
    """

    coordinator: Coordinator
    ads: AdsServer
    reporter: ViewableReporter
    metrics: Metrics
    servers: Servers
    background: tuple[Callable[[], Coroutine[Any, Any, None]], ...]
    prepare: Callable[[], Coroutine[Any, Any, None]]

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until ``stop`` is set.

        Raises:
            OSError: an address cannot be bound.
            GatewayError: that of xDS cannot be bound, or its certificates cannot be used.
        """
        xds_port = await self.ads.start(str(self.servers.xds), self.servers.xds_tls)
        try:
            await self._serve(stop, xds_port)
        finally:
            await self.ads.stop()

    async def _serve(self, stop: asyncio.Event, xds_port: int) -> None:
        runner, http_port = await serve(
            application(self._views()), self.servers.http.host, self.servers.http.port
        )
        _log.info(
            "serving",
            xds=str(Address(self.servers.xds.host, xds_port)),
            xds_security="mTLS" if self.servers.xds_tls else "plain text",
            http=str(Address(self.servers.http.host, http_port)),
        )
        try:
            await _until(stop, self._work, *self.background)
        finally:
            await runner.cleanup()
            _log.info("stopped")

    async def _work(self) -> None:
        await self.prepare()
        await self.coordinator.run()

    def _views(self) -> Views:
        return Views(
            alive=lambda: self.coordinator.alive,
            ready=lambda: self.coordinator.ready,
            metrics=self.metrics.exposition,
            statuses=lambda: self.reporter.documents,
            plan=self.coordinator.plan,
        )


async def _until(stop: asyncio.Event, *parts: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run every part until ``stop`` is set; the first part that fails ends all of them and is raised."""
    stopped = asyncio.create_task(stop.wait(), name="stop")
    tasks = [asyncio.create_task(part(), name=getattr(part, "__qualname__", "part")) for part in parts]
    try:
        done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in done - {stopped}:
            task.result()
            raise RuntimeError(f"{task.get_name()} ended although nothing told it to")
    finally:
        for task in (stopped, *tasks):
            task.cancel()
        await asyncio.gather(stopped, *tasks, return_exceptions=True)
