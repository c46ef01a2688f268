"""The real operator without Kubernetes, for measurements: its files, and the gateway that it serves."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.gateway import rig
from benchmarks.gateway.processes import Running, free_port, started

GATEWAY = "default"
PLAN = "bench/plan"
_POOL = "pool"


@dataclass(frozen=True, slots=True)
class Settings:
    """What differs between runs.

    Attributes:
        interval_seconds: from one plan to the next.
        window_seconds: over which rates are measured.
        warm_prefixes: keys that one destination has slots for.
        eviction_seconds: an Envoy drops counters that nobody touched for so long.
    """

    interval_seconds: int
    window_seconds: int
    warm_prefixes: int
    eviction_seconds: int


@contextlib.contextmanager
def standalone(settings: Settings, destinations: list[tuple[str, int]]) -> Iterator[rig.Gateway]:
    """Run `cacheroute standalone` and an Envoy; its rates are the Envoy's counters."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cacheroute-bench-")))
        xds, stats = free_port(), free_port()
        (folder / "plans.yaml").write_text(yaml.safe_dump(_plan(settings)), "utf-8")
        (folder / "destinations.yaml").write_text(yaml.safe_dump(_destinations(destinations)), "utf-8")
        command = [sys.executable, "-m", "cacheroute.cli.main", "standalone", "--log-level", "error"]
        places = ["--xds-bind", f"127.0.0.1:{xds}", "--http-bind", f"127.0.0.1:{free_port()}"]
        pages = [
            "--gateway-stats",
            f"http://127.0.0.1:{stats}/stats/prometheus",
            "--state",
            str(folder / "state"),
        ]
        inputs = ["--file", str(folder / "plans.yaml"), "--destinations", str(folder / "destinations.yaml")]
        operator = stack.enter_context(started("operator", [*command, *places, *pages, *inputs]))
        envoy = rig.planned_envoy(xds, GATEWAY, settings.eviction_seconds, stats=stats)
        yield _gateway(operator, *stack.enter_context(envoy))


def _gateway(operator: Running, envoy: Running, port: int, stats: str, admin: str) -> rig.Gateway:
    return rig.Gateway(envoy, operator, port, stats, admin)


def _plan(settings: Settings) -> dict[str, object]:
    namespace, name = PLAN.split("/")
    capacity = {"requestsPerSecond": "100000", "warmPrefixes": settings.warm_prefixes}
    node = {"matchLabels": {"example.com/gpu": "any"}}
    spec = {
        "gateway": GATEWAY,
        "models": [rig.MODEL],
        "destinations": {"selector": {"matchLabels": {"app": "vllm"}}},
        "nodePools": [{"name": _POOL, "nodeSelector": node, "capacity": capacity}],
        "keys": {"sources": [{"header": rig.HEADER[1]}, {"bodyField": rig.BODY[1]}]},
        "rates": {"windowSeconds": settings.window_seconds},
        "planning": {"intervalSeconds": settings.interval_seconds},
    }
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "cacheroute.dev/v1alpha1",
        "kind": "RoutingPlan",
        "metadata": metadata,
        "spec": spec,
    }


def _destinations(destinations: list[tuple[str, int]]) -> dict[str, object]:
    return {
        "destinations": [
            {"name": f"pod-{number:04d}", "address": address, "port": port, "pool": _POOL}
            for number, (address, port) in enumerate(destinations)
        ]
    }
