from typing import Any

import pytest

from cacheroute.domain.fleet import Destination, DestinationState, Fleet
from cacheroute.kube.convert import read
from cacheroute.kube.fleet import DISRUPTION_TAINTS, observe_fleet
from cacheroute.kube.records import node_record, pod_record
from tests.kube.objects import node, pod, routing_plan

NOT_READY: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "False"}]}
DELETING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
DISRUPTED = {
    "unschedulable": True,
    "taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}],
}


def observed(pods: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> Fleet:
    records = {one["metadata"]["name"]: node_record(one) for one in nodes}
    return observe_fleet(read(routing_plan()).placement, [pod_record(one) for one in pods], records)


def state(the_pod: dict[str, Any], the_node: dict[str, Any]) -> DestinationState:
    (destination,) = observed([the_pod], [the_node]).destinations
    return destination.state


def test_a_ready_pod_on_a_pool_is_a_destination() -> None:
    fleet = observed([pod("b"), pod("a")], [node()])
    assert fleet.destinations[0] == Destination("a", "10.0.0.1", 8000, "h100", "node-1", "z1")
    assert [one.name for one in fleet.destinations] == ["a", "b"]
    assert fleet.empty_pools == ("h200",)


@pytest.mark.parametrize(
    ("the_pod", "the_node", "expected"),
    [
        (pod("a"), node(), DestinationState.READY),
        (pod("a", status=NOT_READY), node(), DestinationState.LOST),
        (pod("a", status={"conditions": None}), node(), DestinationState.LOST),
        (pod("a"), node(status=NOT_READY), DestinationState.LOST),
        (pod("a", **DELETING), node(), DestinationState.DRAINING),
        (pod("a", status=NOT_READY, **DELETING), node(), DestinationState.DRAINING),
        (pod("a", **DELETING), node(status=NOT_READY), DestinationState.LOST),
        (pod("a"), node(spec=DISRUPTED), DestinationState.DRAINING),
        (pod("a", status=NOT_READY), node(spec=DISRUPTED), DestinationState.LOST),
        (pod("a"), node(spec={"unschedulable": True}), DestinationState.READY),
        (pod("a"), node(spec={**DISRUPTED, "unschedulable": False}), DestinationState.READY),
    ],
)
def test_states(the_pod: dict[str, Any], the_node: dict[str, Any], expected: DestinationState) -> None:
    assert state(the_pod, the_node) is expected


@pytest.mark.parametrize("taint", sorted(DISRUPTION_TAINTS))
def test_every_disruption_taint_drains(taint: str) -> None:
    spec = {"unschedulable": True, "taints": [{"key": "other"}, {"key": taint}]}
    assert state(pod("a"), node(spec=spec)) is DestinationState.DRAINING


@pytest.mark.parametrize(
    "the_pod",
    [
        pod("a", status={"podIP": None}),
        pod("a", status={"phase": "Pending"}),
        pod("a", status={"phase": "Succeeded"}),
        pod("a", spec={"nodeName": None}),
        pod("a", metadata={"labels": {"app": "other"}}),
        {"metadata": {"namespace": "inference", "name": "bare"}},
    ],
)
def test_what_does_not_run_is_nothing(the_pod: dict[str, Any]) -> None:
    fleet = observed([the_pod], [node()])
    assert (fleet.destinations, fleet.unpooled) == ((), ())


def test_a_pod_on_no_pool_is_named() -> None:
    fleet = observed([pod("a"), pod("b", spec={"nodeName": "gone"})], [node(product="NVIDIA-T4")])
    assert fleet == Fleet(unpooled=("a", "b"), empty_pools=("h100", "h200"))


def test_the_first_pool_that_selects_a_node_has_it() -> None:
    everything = {
        "name": "any",
        "nodeSelector": {},
        "capacity": {"requestsPerSecond": "1", "warmPrefixes": 1},
    }
    pools = [*routing_plan()["spec"]["nodePools"], everything]
    placement = read(routing_plan({"spec": {"nodePools": pools}})).placement
    nodes = {
        "h": node_record(node("h")),
        "t": node_record(node("t", product="NVIDIA-T4")),
    }
    pods = [pod_record(pod(name, spec={"nodeName": name})) for name in nodes]
    fleet = observe_fleet(placement, pods, nodes)
    assert {one.name: one.pool for one in fleet.destinations} == {"h": "h100", "t": "any"}
