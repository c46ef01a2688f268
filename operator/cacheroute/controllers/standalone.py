"""Composition root of standalone mode: the same loop, with files, probes and the gateway's own counters."""

from dataclasses import dataclass
from pathlib import Path

from cacheroute.controllers.coordinator import Coordinator, Ports
from cacheroute.controllers.counting import CountingStore
from cacheroute.controllers.file_store import FilePlanStore, MemoryReporter
from cacheroute.controllers.file_world import FileWorld, InputFileError
from cacheroute.controllers.prober import Prober
from cacheroute.controllers.runtime import Runtime, Servers
from cacheroute.prom.gateway import GatewayRates
from cacheroute.prom.metrics import Metrics
from cacheroute.proxy.server import AdsServer


@dataclass(frozen=True, slots=True)
class StandaloneOptions:
    """What standalone mode is started with.

    Attributes:
        plans: YAML file of RoutingPlans; watched.
        destinations: YAML file of destinations; watched.
        state: folder where the plans in force are kept.
        gateway_stats: URLs of the gateways' Prometheus endpoints.
        servers: where the process can be reached.
    """

    plans: Path
    destinations: Path
    state: Path
    gateway_stats: tuple[str, ...]
    servers: Servers


def standalone(options: StandaloneOptions) -> Runtime:
    """Put standalone mode together.

    Raises:
        InputFileError: an input file or the folder of the plans cannot be used.
    """
    _make(options.state)
    world = FileWorld(options.plans, options.destinations)
    reporter, metrics = MemoryReporter(world.specs), Metrics()
    rates = GatewayRates(options.gateway_stats)
    ads = AdsServer(lambda _gateway: coordinator.wake(), on_refusal=metrics.proxy_refused)
    store = CountingStore(FilePlanStore(options.state), metrics)
    coordinator = Coordinator(Ports(world, store, reporter, rates, ads, metrics))
    prober = Prober(world, coordinator.wake)
    return Runtime(
        coordinator=coordinator,
        ads=ads,
        reporter=reporter,
        metrics=metrics,
        servers=options.servers,
        background=(prober.run, rates.run, lambda: world.watch(coordinator.wake)),
        prepare=prober.first_round,
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputFileError(
            f"--state {folder}: cannot be made: {error.strerror}; name another folder"
        ) from error
