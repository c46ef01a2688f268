"""Composition root of the operator: the loop with Kubernetes, Prometheus and xDS."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from cacheroute.controllers.addresses import parse_address
from cacheroute.controllers.coordinator import Coordinator, Ports
from cacheroute.controllers.kopf_runner import KopfRunner
from cacheroute.controllers.runtime import Runtime, Servers
from cacheroute.controllers.settings import OperatorSettings
from cacheroute.domain.errors import StoreError
from cacheroute.kube.client import api_client
from cacheroute.kube.lister import Lister
from cacheroute.kube.status import KubeReporter
from cacheroute.kube.store import KubePlanStore
from cacheroute.kube.world import KubeWorld
from cacheroute.prom.metrics import Metrics
from cacheroute.prom.source import PrometheusOptions, PrometheusRates
from cacheroute.proxy.server import AdsServer

RELIST_SECONDS = 60.0
RETRY_SECONDS = 2.0

_log = structlog.get_logger(__name__)


def compose(settings: OperatorSettings) -> Runtime:
    """Put the operator together; call it in the loop that it will run in.

    Raises:
        StoreError: there is no cluster to talk to.
        ValueError: an address cannot be read.
    """
    api = api_client()
    world = KubeWorld(Lister(api, settings.namespaces), lambda: coordinator.wake())
    reporter, metrics = KubeReporter(api, world.uid), Metrics()
    ads = AdsServer(lambda _gateway: coordinator.wake())
    ports = Ports(world, KubePlanStore(api, world.uid), reporter, _rates(settings), ads, metrics)
    coordinator = Coordinator(ports)
    kopf = KopfRunner(world, settings.namespaces)
    return Runtime(
        coordinator=coordinator,
        ads=ads,
        reporter=reporter,
        metrics=metrics,
        servers=Servers(xds=parse_address(settings.xds_bind), http=parse_address(settings.http_bind)),
        background=(kopf.run, _relisting(world)),
        prepare=lambda: _first_list(world),
    )


def _rates(settings: OperatorSettings) -> PrometheusRates:
    return PrometheusRates(
        PrometheusOptions(
            url=settings.prometheus_url,
            timeout_seconds=settings.prometheus_timeout_seconds,
            bearer_token_file=settings.prometheus_token_file,
            ca_file=settings.prometheus_ca_file,
            verify=settings.prometheus_verify,
        )
    )


async def _first_list(world: KubeWorld) -> None:
    """Know everything before anything is published; waits for the API server as long as it takes."""
    while True:
        try:
            await world.relist()
        except StoreError as error:
            _log.warning("cluster not read yet, will retry", error=str(error))
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


def _relisting(world: KubeWorld) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return a task that lists everything again from time to time: a deletion that a watch missed heals."""

    async def relist() -> None:
        while True:
            await asyncio.sleep(RELIST_SECONDS)
            try:
                await world.relist()
            except StoreError as error:
                _log.warning("cluster not listed again, watches go on", error=str(error))

    return relist
