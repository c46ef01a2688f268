"""Composition root of the operator: the loop with Kubernetes, Prometheus and xDS."""

import asyncio

from cacheroute.controllers.addresses import parse_address
from cacheroute.controllers.coordinator import Coordinator, Ports
from cacheroute.controllers.counting import CountingReporter, CountingStore
from cacheroute.controllers.handlers import Feed
from cacheroute.controllers.kopf_runner import KopfRunner, WatchScope
from cacheroute.controllers.relist import Relist
from cacheroute.controllers.runtime import Runtime, Servers
from cacheroute.controllers.settings import OperatorSettings
from cacheroute.kube.client import api_client
from cacheroute.kube.lister import Lister
from cacheroute.kube.status import KubeReporter
from cacheroute.kube.store import KubePlanStore
from cacheroute.kube.world import KubeWorld
from cacheroute.prom.metrics import Metrics
from cacheroute.prom.source import PrometheusOptions, PrometheusRates
from cacheroute.proxy.server import AdsServer


def compose(settings: OperatorSettings) -> Runtime:
    """Put the operator together; call it in the loop that it will run in.

    Raises:
        StoreError: there is no cluster to talk to.
        ValueError: an address cannot be read, or only some of the certificates of xDS are given.
    """
    api = api_client()
    lister = Lister(api, settings.namespaces)
    world = KubeWorld(lister, lambda: coordinator.wake())  # noqa: PLW0108 - the coordinator is made later
    reporter, metrics = KubeReporter(api, world.uid), Metrics()
    ads = AdsServer(lambda _gateway: coordinator.wake(), on_refusal=metrics.proxy_refused)
    store = CountingStore(KubePlanStore(api, world.uid), metrics)
    ports = Ports(world, store, CountingReporter(reporter, metrics), _rates(settings), ads, metrics)
    coordinator = Coordinator(ports)
    relist = Relist(world)

    def watch_restarted() -> None:
        metrics.watch_restarted()
        relist.ask()

    feed = Feed(asyncio.get_running_loop(), world)
    kopf = KopfRunner(feed, WatchScope(settings.namespaces), lister.check, watch_restarted)
    return Runtime(
        coordinator=coordinator,
        ads=ads,
        reporter=reporter,
        metrics=metrics,
        servers=Servers(
            xds=parse_address(settings.xds_bind),
            http=parse_address(settings.http_bind),
            xds_tls=settings.xds_tls,
        ),
        background=(kopf.run, relist.run),
        prepare=relist.once,
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
