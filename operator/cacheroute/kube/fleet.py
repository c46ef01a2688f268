"""Pods and nodes → the destinations of a plan. Pure."""

from collections.abc import Iterable, Mapping

from cacheroute.domain.fleet import Destination, DestinationState, Fleet
from cacheroute.kube.convert import Placement
from cacheroute.kube.records import NodeRecord, PodRecord

DISRUPTION_TAINTS = frozenset(
    {
        "karpenter.sh/disrupted",
        "ToBeDeletedByClusterAutoscaler",
        "cloud.google.com/impending-node-termination",
        "node.kubernetes.io/out-of-service",
    }
)
"""Taints that say, on a cordoned node, that its pods will be gone soon."""


def observe_fleet(
    placement: Placement,
    pods: Iterable[PodRecord],
    nodes: Mapping[str, NodeRecord],
    disruption_taints: frozenset[str] = DISRUPTION_TAINTS,
) -> Fleet:
    """Return the destinations of a plan.

    A selected pod is a destination once it runs on a node and has an address; until then, and after it ended,
    it is none. A pod whose node is in no pool, or is not known, is none either and is named in ``unpooled``.

    Args:
        placement: what the plan selects.
        pods: of the plan's namespace.
        nodes: by name.
        disruption_taints: keys of taints that announce the end of a cordoned node.
    """
    pools = {name: _pool(placement, node) for name, node in nodes.items()}
    serving = [
        pod for pod in pods if pod.running and pod.address and pod.node and placement.pods.matches(pod.labels)
    ]
    destinations = [
        _destination(pod, nodes[pod.node], placement.port, pool, disruption_taints)
        for pod in serving
        if (pool := pools.get(pod.node)) is not None
    ]
    return Fleet(
        destinations=tuple(sorted(destinations, key=lambda one: one.name)),
        unpooled=tuple(sorted(pod.name for pod in serving if pools.get(pod.node) is None)),
        empty_pools=tuple(sorted({name for name, _ in placement.pools} - set(pools.values()))),
    )


def _pool(placement: Placement, node: NodeRecord) -> str | None:
    return next((name for name, selector in placement.pools if selector.matches(node.labels)), None)


def _destination(
    pod: PodRecord, node: NodeRecord, port: int, pool: str, disruption_taints: frozenset[str]
) -> Destination:
    return Destination(
        name=pod.name,
        address=pod.address,
        port=port,
        pool=pool,
        node=node.name,
        zone=node.zone,
        state=_state(pod, node, disruption_taints),
    )


def _state(pod: PodRecord, node: NodeRecord, disruption_taints: frozenset[str]) -> DestinationState:
    """Judge a pod. One that is being deleted may fail its probe and still finish its streams: it drains."""
    if not node.ready:
        return DestinationState.LOST
    if pod.deleting:
        return DestinationState.DRAINING
    if not pod.ready:
        return DestinationState.LOST
    disrupted = node.cordoned and not disruption_taints.isdisjoint(node.taints)
    return DestinationState.DRAINING if disrupted else DestinationState.READY
