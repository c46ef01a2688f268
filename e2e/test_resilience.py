"""What happens to pods and nodes in a day, under streams that must all end whole: rolled, scaled, drained, cut off.

docs/operations.md promises what is tested here.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cacheroute.domain.movement import served_by
from e2e.harness import wait
from e2e.system import manifests
from e2e.system.history import PlanHistory
from e2e.system.installation import Installation
from e2e.system.manifests import ENGINES, NAMESPACE, SYSTEM
from e2e.system.outage import Outage, ready, restarts
from e2e.system.steady import (
    GATEWAY,
    GATEWAY_PODS,
    OPERATOR,
    OPERATOR_PODS,
    VLLM,
    gone,
    hold,
    known_keys,
    on_node,
    plan_history,
    pods,
    rolled,
    under_streams,
)
from e2e.system.traffic import Answer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900, func_only=True)]

GROWN, SHRUNK = 12, 4
SLOWEST_SECONDS = 1.5
"""What a node that vanished costs a request that was sent afterwards."""
FLYING_SECONDS = 2.6
"""From the cut to where one that an engine was computing starts anew: TCP keep-alive notices after at most 2.1 s, and a
try that draws the same node once more takes 0.5 s (docs/decisions/0010)."""
OUTAGE_SECONDS = float(os.environ.get("E2E_OUTAGE_SECONDS", "8"))
"""How long parts are down; set it to 300 now and then."""


@pytest.fixture(scope="module")
def fleet(installed: Installation) -> Iterator[Installation]:
    """Engines that end as they should, and a plan in force for all tenants."""
    cluster = installed.cluster
    cluster.apply(manifests.graceful_engines(cluster.image), namespace=NAMESPACE)
    rolled(installed, VLLM, NAMESPACE)
    cluster.apply(manifests.routing_plan(), namespace=NAMESPACE)
    with installed.traffic().running():
        wait.until(lambda: known_keys(installed) == 40, within=60, what="a plan for all tenants")
        installed.wait_ready(within=20)
    hold(installed)
    yield installed
    cluster.kubectl("delete", "rplan", "llama", "-n", NAMESPACE, "--timeout=10s")
    cluster.apply(manifests.engines(cluster.image), namespace=NAMESPACE)
    rolled(installed, VLLM, NAMESPACE)


def test_a_node_is_drained(fleet: Installation) -> None:
    """Cordon a node and evict engines, a gateway pod and Prometheus; all come back on the other one.

    Not the operator: while it moves nobody tells the gateways which engines go.
    """
    node = fleet.cluster.provider.nodes[1]
    with plan_history(fleet) as history, under_streams(fleet) as streams:
        options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=90s")
        fleet.cluster.kubectl("drain", node, f"--pod-selector={OPERATOR_PODS.replace('=', '!=')}", *options)
        rolled(fleet, VLLM, NAMESPACE)
        rolled(fleet, GATEWAY, SYSTEM)
    fleet.cluster.kubectl("drain", node, *options)
    rolled(fleet, OPERATOR, SYSTEM)
    fleet.cluster.kubectl("uncordon", node)
    assert history.unexplained(streams.done) == []
    assert {plan.version for plan in history.plans} == {history.plans[0].version}


def test_all_engines_are_rolled(fleet: Installation) -> None:
    """Each pod's successor takes over its seat and with it its keys; nothing else moves."""
    old = pods(fleet, "app=vllm", NAMESPACE)
    with plan_history(fleet) as history, under_streams(fleet) as streams:
        fleet.cluster.kubectl("rollout", "restart", VLLM, "-n", NAMESPACE)
        rolled(fleet, VLLM, NAMESPACE)
        wait.until(gone(fleet, old, "app=vllm", NAMESPACE), within=60, what="the old pods to be gone")
    first, last = history.plans[0], history.plans[-1]
    assert {plan.version for plan in history.plans} == {first.version}
    assert set(last.by_destination()) == pods(fleet, "app=vllm", NAMESPACE)
    assert history.unexplained(streams.done) == []
    planned = {(one.tenant, one.destination) for one in streams.done if one.decision == "planned"}
    for key, names in served_by(first).items():
        seen = {name for tenant, name in planned if tenant == key}
        assert len(seen) <= 2 * len(names), f"{key} moved more than once"


def test_a_node_vanishes(fleet: Installation) -> None:
    """No reset ever comes from it. Requests without an answer go elsewhere; the plan follows when Kubernetes knows."""
    node, cluster = fleet.cluster.provider.nodes[1], fleet.cluster
    keep_ours_off(fleet, node)
    there = on_node(fleet, node, "app=vllm", NAMESPACE)
    assert there
    assert not on_node(fleet, node, GATEWAY_PODS, SYSTEM) | on_node(fleet, node, OPERATOR_PODS, SYSTEM)
    with plan_history(fleet) as history, fleet.traffic(30).running() as traffic:
        wait.until(lambda: len(traffic.answers) > 100, within=30, what="traffic to flow")
        cluster.provider.cut_node(node)
        cut = time.monotonic()
        wait.until(lambda: not there & seated(history), within=30, what="the plan without the node's pods")
        repaired = time.monotonic() - cut
        cluster.provider.heal_node(node)
        wait.until(lambda: there <= seated(history), within=60, what="the pods to have their seats again")
        last = time.monotonic()
        wait.until(lambda: len(traffic.since(last)) > 100, within=20, what="traffic after it")
    calm = longest([one for one in traffic.answers if one.answered < cut])
    flying = [one for one in traffic.answers if one.sent <= cut < one.answered]
    later = [one for one in traffic.answers if cut < one.sent < last]
    after_cut = sorted(round(one.answered - cut, 2) for one in flying)
    print(
        f"slowest before the cut {calm:.2f} s, of {len(flying)} in flight {longest(flying):.2f} s, counted from the cut "
        f"{after_cut[-5:]} s, of those sent later {longest(later):.2f} s; plan repaired after {repaired:.1f} s; "
        f"{len(there)} of {ENGINES} engines on the node"
    )
    assert traffic.failed == []
    assert max(after_cut, default=0.0) <= calm + FLYING_SECONDS
    assert longest(later) <= calm + SLOWEST_SECONDS
    assert not there & {one.destination for one in traffic.answers if cut + 1 < one.sent < cut + repaired}
    assert served_by(history.plans[-1]) == served_by(history.plans[0])


def keep_ours_off(installation: Installation, node: str) -> None:
    """Have the gateways and the operator on other nodes."""
    ours = "--pod-selector=app.kubernetes.io/component in (gateway, operator)"
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=90s")
    installation.cluster.kubectl("drain", node, ours, *options)
    installation.cluster.kubectl("uncordon", node)
    rolled(installation, GATEWAY, SYSTEM)
    rolled(installation, OPERATOR, SYSTEM)


def seated(history: PlanHistory) -> set[str]:
    return set(history.plans[-1].by_destination())


def longest(answers: list[Answer]) -> float:
    return max((one.answered - one.sent for one in answers), default=0.0)


def test_the_fleet_grows_and_shrinks(fleet: Installation) -> None:
    """6 -> 12 -> 4: the planner gives newcomers keys within its budget, and those of the lost to others."""
    quick = manifests.routing_plan(failover={"replacementGraceSeconds": 5})
    with fleet.traffic(30).running() as traffic, held_at_the_end(fleet):
        fleet.cluster.apply(quick, namespace=NAMESPACE)
        with plan_history(fleet) as history, under_streams(fleet) as streams:
            scale_engines(fleet, GROWN)
            wait.until(lambda: len(seated(history)) == GROWN, within=150, what="keys for the newcomers")
            scale_engines(fleet, SHRUNK)
            wait.until(lambda: len(history.plans[-1].seats) == SHRUNK, within=150, what="a plan on the rest")
    assert traffic.failed == []
    assert history.unexplained(streams.done) == []


def scale_engines(installation: Installation, replicas: int) -> None:
    installation.cluster.kubectl("scale", VLLM, "-n", NAMESPACE, f"--replicas={replicas}")


@contextmanager
def held_at_the_end(installation: Installation) -> Iterator[None]:
    """Leave a held plan and as many engines as there were."""
    try:
        yield
    finally:
        scale_engines(installation, ENGINES)
        rolled(installation, VLLM, NAMESPACE)
        hold(installation)


def test_gateway_pods_are_replaced(fleet: Installation) -> None:
    """A gateway pod that goes finishes its streams and sends its clients elsewhere."""
    old = pods(fleet, GATEWAY_PODS, SYSTEM)
    with under_streams(fleet):
        fleet.cluster.kubectl("rollout", "restart", GATEWAY, "-n", SYSTEM)
        rolled(fleet, GATEWAY, SYSTEM)
        fleet.cluster.kubectl("scale", GATEWAY, "-n", SYSTEM, "--replicas=1")
        wait.until(gone(fleet, old, GATEWAY_PODS, SYSTEM), within=60, what="the old pods to be gone")
        wait.until(lambda: len(pods(fleet, GATEWAY_PODS, SYSTEM)) == 1, within=60, what="one gateway pod")
    fleet.cluster.kubectl("scale", GATEWAY, "-n", SYSTEM, "--replicas=2")
    rolled(fleet, GATEWAY, SYSTEM)


def test_without_the_operator(fleet: Installation) -> None:
    """Existing gateways go on; a new one waits, unready, because nobody tells it the routes."""
    outage = Outage(fleet)
    with under_streams(fleet):
        outage.operator(0)
        pod = outage.new_gateway()
        outage.stays_unready(pod, OUTAGE_SECONDS)
        outage.operator(1)
        outage.becomes_ready(pod)
        outage.over()


def test_the_operator_is_killed(fleet: Installation) -> None:
    outage = Outage(fleet)
    (operator,) = pods(fleet, OPERATOR_PODS, SYSTEM)
    with under_streams(fleet):
        fleet.cluster.provider.kill_container(SYSTEM, operator)
        wait.until(lambda: restarts(fleet, operator) > 0, within=30, what="the operator to be started again")
        rolled(fleet, OPERATOR, SYSTEM)
        outage.over()


def test_without_prometheus(fleet: Installation) -> None:
    """The plan stays, a new gateway pod gets it, and the condition says why there are no rates."""
    outage = Outage(fleet)
    with under_streams(fleet):
        outage.prometheus(0)
        wait.until(lambda: fleet.condition("RatesAvailable")[0] == "False", within=60, what="no rates")
        outage.becomes_ready(outage.new_gateway())
        assert fleet.condition("Ready")[0] == "True"
        outage.prometheus(1)
        outage.over()


def test_without_the_api_server(fleet: Installation) -> None:
    """An operator that is started again meanwhile knows nothing, says so, and serves nobody an empty configuration."""
    outage = Outage(fleet)
    provider = fleet.cluster.provider
    (operator,) = fleet.cluster.list("pods", OPERATOR_PODS, SYSTEM)
    address = operator["status"]["podIP"]
    with under_streams(fleet) as streams:
        provider.stop_api_server()
        try:
            assert ready(address) == 200
            provider.kill_container(SYSTEM, operator["metadata"]["name"])
            wait.until(lambda: ready(address) == 503, within=60, what="the operator to run again, unready")
            last = time.monotonic()
            while time.monotonic() < last + OUTAGE_SECONDS:
                assert ready(address) == 503
                time.sleep(0.5)  # between two looks
            assert streams.since(last)
        finally:
            provider.start_api_server()
        seconds = wait.until(lambda: ready(address) == 200, within=90, what="the operator to be ready")
        print(f"operator ready {seconds:.1f} s after the API server")
        outage.over()
    assert {one.version for one in streams.done} == {fleet.plan().version}


def test_without_any_of_them(fleet: Installation) -> None:
    """Operator, Prometheus and API server are down together; then a gateway pod starts before the operator does."""
    outage = Outage(fleet)
    with under_streams(fleet) as streams:
        outage.prometheus(0)
        outage.operator(0)
        fleet.cluster.provider.stop_api_server()
        last = time.monotonic()
        try:
            wait.until(
                lambda: time.monotonic() > last + OUTAGE_SECONDS, within=OUTAGE_SECONDS + 5, what="the outage"
            )
            assert len(streams.since(last)) > OUTAGE_SECONDS
        finally:
            fleet.cluster.provider.start_api_server()
        pod = outage.new_gateway()
        outage.stays_unready(pod, 3)
        outage.operator(1)
        outage.becomes_ready(pod)
        outage.prometheus(1)
        wait.until(lambda: fleet.condition("RatesAvailable")[0] == "True", within=90, what="rates again")
        outage.over()
