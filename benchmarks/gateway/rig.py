"""What is measured: our gateway (publisher and Envoy), a plain Envoy, a router to compare with, and destinations."""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gateway import programs
from benchmarks.gateway.processes import Running, free_port, started, wait_for
from benchmarks.gateway.publisher import GATEWAY, Done, Order
from cacheroute.cli.gateway import envoy_command
from cacheroute.proxy.bootstrap import BootstrapSettings, Place

HEADER, BODY = ("header", "x-tenant-id"), ("bodyField", "user")
MODEL = "llama"
DESTINATIONS = 30
_LOOPBACK = "127.0.0.1"
_HOSTS = 250
_CONNECTIONS = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_ROUTER = "envoy.extensions.filters.http.router.v3.Router"
_LIMIT = 1_000_000
_PREVIOUS = {
    "name": "envoy.retry_host_predicates.previous_hosts",
    "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
    },
}
_RETRIES = {
    "retry_policy": {
        "retry_on": "connect-failure,refused-stream,reset-before-request,reset",
        "num_retries": 5,
        "retry_host_predicate": [_PREVIOUS],
        "host_selection_retry_max_attempts": 5,
    }
}
"""As in our routes: a request is kept until it is answered, so that it can be sent again."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Our gateway.

    Attributes:
        envoy: its process.
        publisher: the process that plans and serves xDS.
        port: where clients come.
        stats: URL of the counters.
        admin: URL of Envoy's administration.
    """

    envoy: Running
    publisher: Running
    port: int
    stats: str
    admin: str

    def publish(self, order: Order) -> Done:
        """Plan, publish, and wait until Envoy has it."""
        self.publisher.tell(json.dumps(dataclasses.asdict(order)))
        return Done(**json.loads(self.publisher.line()))


@contextlib.contextmanager
def backend(name: str = "backend") -> Iterator[tuple[Running, int]]:
    """Run one destination; its port is the same on every address of loopback."""
    with started(name, [programs.backend()]) as process:
        yield process, int(process.line())


def addresses(count: int, port: int) -> list[tuple[str, int]]:
    """Return the addresses of so many destinations that one process plays."""
    return [(f"127.1.{number // _HOSTS}.{number % _HOSTS + 1}", port) for number in range(count)]


def order(
    keys: int,
    destinations: list[tuple[str, int]],
    *,
    model: str = MODEL,
    sources: tuple[tuple[str, str], ...] = (HEADER, BODY),
    seed: int = 0,
) -> Order:
    """Return what the publisher is asked for."""
    return Order(keys, destinations, [model], list(sources), seed)


@contextlib.contextmanager
def gateway(eviction_seconds: int = 900, *, log: Path | None = None) -> Iterator[Gateway]:
    """Run a gateway that has no plan yet."""
    with contextlib.ExitStack() as stack:
        command = [sys.executable, "-m", "benchmarks.gateway.publisher"]
        publisher = stack.enter_context(started("publisher", command, log=log))
        xds = int(json.loads(publisher.line())["port"])
        envoy, port, stats, admin = stack.enter_context(
            planned_envoy(xds, GATEWAY, eviction_seconds, log=log)
        )
        yield Gateway(envoy, publisher, port, stats, admin)


@contextlib.contextmanager
def planned_envoy(
    xds: int, fleet: str, eviction_seconds: int = 900, *, stats: int = 0, log: Path | None = None
) -> Iterator[tuple[Running, int, str, str]]:
    """Run an Envoy of ours with one worker; yields it, its port, and the URLs of its counters and administration."""
    listen, counters, admin = (
        Place(_LOOPBACK, port) for port in (free_port(), stats or free_port(), free_port())
    )
    settings = BootstrapSettings(
        fleet, "envoy-1", Place(_LOOPBACK, xds), listen, counters, admin, eviction_seconds=eviction_seconds
    )
    command = envoy_command(programs.envoy(), settings, concurrency=1, log_level="error")
    with started("envoy", command, log=log) as process:
        pages = f"http://{_LOOPBACK}:{counters.port}/stats/prometheus"
        yield process, listen.port, pages, f"http://{_LOOPBACK}:{admin.port}"


@contextlib.contextmanager
def plain_envoy(
    destinations: list[tuple[str, int]], *, failover: bool = False
) -> Iterator[tuple[Running, int]]:
    """Run the same Envoy with power of two choices: no key, no counters, no usage; retries only with ``failover``."""
    port = free_port()
    config = json.dumps(_plain(port, free_port(), destinations, _RETRIES if failover else {}))
    options = ["--config-yaml", config, "--disable-hot-restart", "--concurrency", "1", "-l", "error"]
    command: list[str | Path] = [programs.envoy(), *options]
    with started("plain envoy", command) as process:
        wait_for(f"http://{_LOOPBACK}:{port}/v1/models", "plain Envoy")
        yield process, port


@contextlib.contextmanager
def vllm_router(destinations: list[tuple[str, int]]) -> Iterator[tuple[Running, int]]:
    """Run vllm-router with consistent hashing of a header."""
    port = free_port()
    urls = [f"http://{address}:{number}" for address, number in destinations]
    place = ["--host", _LOOPBACK, "--port", str(port), "--prometheus-port", str(free_port())]
    policy = ["--policy", "consistent_hash", "--log-level", "error", "--worker-urls", *urls]
    command: list[str | Path] = [programs.vllm_router(), *place, *policy]
    with started("vllm-router", command) as process:
        wait_for(f"http://{_LOOPBACK}:{port}/health", "vllm-router")
        yield process, port


def _plain(
    port: int, admin: int, destinations: list[tuple[str, int]], retries: dict[str, Any]
) -> dict[str, Any]:
    route = {"match": {"prefix": "/"}, "route": {"cluster": "fleet", "timeout": "0s", **retries}}
    manager = {
        "@type": f"type.googleapis.com/{_CONNECTIONS}",
        "stat_prefix": "plain",
        "use_remote_address": True,
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [
            {"name": "envoy.filters.http.router", "typed_config": {"@type": f"type.googleapis.com/{_ROUTER}"}}
        ],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {
        "admin": {"address": _address(_LOOPBACK, admin)},
        "static_resources": {
            "listeners": [{"name": "plain", "address": _address(_LOOPBACK, port), "filter_chains": [chain]}],
            "clusters": [_plain_cluster(destinations)],
        },
    }


def _plain_cluster(destinations: list[tuple[str, int]]) -> dict[str, Any]:
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests", "max_retries"), _LIMIT)
    hosts = [{"endpoint": {"address": _address(*one)}} for one in destinations]
    return {
        "name": "fleet",
        "type": "STATIC",
        "lb_policy": "LEAST_REQUEST",
        "circuit_breakers": {"thresholds": [limits]},
        "load_assignment": {"cluster_name": "fleet", "endpoints": [{"lb_endpoints": hosts}]},
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}
