"""What pods, nodes and gateways do in a day: rolled, scaled, drained, under streams that must all end whole."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from e2e.harness import wait
from e2e.system import manifests
from e2e.system.installation import Installation
from e2e.system.manifests import NAMESPACE, SYSTEM
from e2e.system.streams import Stream, Streams

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300, func_only=True)]

GATEWAY = "deployment/cacheroute-gateway"


@pytest.fixture(scope="module")
def fleet(installed: Installation) -> Installation:
    """Engines that end as they should, and a plan in force for all tenants."""
    cluster = installed.cluster
    cluster.apply(manifests.graceful_engines(cluster.image), namespace=NAMESPACE)
    rolled(installed, "deployment/vllm", NAMESPACE)
    cluster.apply(manifests.routing_plan(), namespace=NAMESPACE)
    with installed.traffic().running():
        wait.until(lambda: known_keys(installed) == 40, within=60, what="a plan for all tenants")
        installed.wait_ready(within=20)
    hold(installed)
    return installed


def hold(installation: Installation) -> None:
    """Plan nothing anew: what moves from now on, moves because a pod came or went."""
    installation.cluster.apply(manifests.routing_plan(mode="Hold"), namespace=NAMESPACE)
    wait.until(
        lambda: installation.condition("Planned") == ("True", "Hold"), within=20, what="the plan to be held"
    )


def known_keys(installation: Installation) -> int:
    return int(installation.status().get("plan", {}).get("keys", {}).get("known", 0))


def rolled(installation: Installation, what: str, namespace: str) -> None:
    installation.cluster.kubectl("rollout", "status", what, "-n", namespace, "--timeout=120s")


def pods(installation: Installation, labels: str, namespace: str) -> set[str]:
    return {one["metadata"]["name"] for one in installation.cluster.list("pods", labels, namespace)}


@contextmanager
def under_streams(installation: Installation) -> Iterator[Streams]:
    """Stream before, during and for some seconds after the block; every stream must end whole."""
    with installation.streams().running() as streams:
        wait.until(lambda: len(streams.done) > 10, within=30, what="streams to flow")
        yield streams
        last = time.monotonic()
        wait.until(lambda: len(streams.since(last)) > 10, within=30, what="streams after it")
    assert streams.failed == []
    print(f"{len(streams.done)} streams, slowest first byte {slowest(streams.done):.2f} s")


def slowest(streams: list[Stream]) -> float:
    return max(one.answered - one.sent for one in streams)


def gone(installation: Installation, names: set[str], labels: str, namespace: str) -> Callable[[], bool]:
    return lambda: not names & pods(installation, labels, namespace)


def test_gateway_pods_are_replaced_under_streams(fleet: Installation) -> None:
    """Rolling update of the gateway: a pod that goes finishes its streams and sends its clients elsewhere."""
    labels = "app.kubernetes.io/component=gateway"
    old = pods(fleet, labels, SYSTEM)
    with under_streams(fleet) as streams:
        fleet.cluster.kubectl("rollout", "restart", GATEWAY, "-n", SYSTEM)
        rolled(fleet, GATEWAY, SYSTEM)
        seconds = wait.until(gone(fleet, old, labels, SYSTEM), within=60, what="the old pods to be gone")
    print(f"old gateway pods gone {seconds:.1f} s after the new ones were ready; {len(streams.done)} streams")


def test_the_gateway_is_scaled_down_under_streams(fleet: Installation) -> None:
    labels = "app.kubernetes.io/component=gateway"
    with under_streams(fleet):
        fleet.cluster.kubectl("scale", GATEWAY, "-n", SYSTEM, "--replicas=1")
        wait.until(lambda: len(pods(fleet, labels, SYSTEM)) == 1, within=60, what="one gateway pod")
    fleet.cluster.kubectl("scale", GATEWAY, "-n", SYSTEM, "--replicas=2")
    rolled(fleet, GATEWAY, SYSTEM)
