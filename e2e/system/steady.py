"""Streams that must go on while something happens, and what is asked of pods and plans meanwhile."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from e2e.harness import wait
from e2e.system import manifests
from e2e.system.history import PlanHistory
from e2e.system.installation import Installation
from e2e.system.manifests import NAMESPACE, SYSTEM
from e2e.system.streams import Stream, Streams

GATEWAY, VLLM, OPERATOR = "deployment/cacheroute-gateway", "deployment/vllm", "deployment/cacheroute"
GATEWAY_PODS, OPERATOR_PODS = (
    f"app.kubernetes.io/component={component}" for component in ("gateway", "operator")
)


def hold(installation: Installation) -> None:
    """Plan nothing anew: what moves from now on, moves because a pod came or went."""
    installation.cluster.apply(manifests.routing_plan(mode="Hold"), namespace=NAMESPACE)
    wait.until(
        lambda: installation.condition("Planned") == ("True", "Hold"), within=20, what="the plan to be held"
    )


def known_keys(installation: Installation) -> int:
    """Return the keys that the plan in force was made from."""
    return int(installation.status().get("plan", {}).get("keys", {}).get("known", 0))


def rolled(installation: Installation, what: str, namespace: str) -> None:
    """Wait until a rollout is complete."""
    installation.cluster.kubectl("rollout", "status", what, "-n", namespace, "--timeout=120s")


def pods(installation: Installation, labels: str, namespace: str) -> set[str]:
    """Return the names of the pods with these labels, ending ones too."""
    return {one["metadata"]["name"] for one in installation.cluster.list("pods", labels, namespace)}


def gone(installation: Installation, names: set[str], labels: str, namespace: str) -> Callable[[], bool]:
    """Return a condition: none of these pods exists any more."""
    return lambda: not names & pods(installation, labels, namespace)


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
    """Return the longest time to the first byte, seconds."""
    return max(one.answered - one.sent for one in streams)


@contextmanager
def plan_history(installation: Installation) -> Iterator[PlanHistory]:
    """Record the plans during the block; none may move more than it says."""
    operator = installation.cluster.list("pods", OPERATOR_PODS, SYSTEM)[0]["status"]["podIP"]
    with PlanHistory(f"{operator}:8080/plans/{NAMESPACE}/llama").recording() as history:
        wait.until(lambda: history.plans, within=10, what="the plan in force")
        yield history
    assert history.moved_beyond_the_plan() == []


def on_node(installation: Installation, node: str, labels: str, namespace: str) -> set[str]:
    """Return the names of the pods with these labels on a node."""
    found = installation.cluster.list("pods", labels, namespace)
    return {one["metadata"]["name"] for one in found if one["spec"].get("nodeName") == node}
