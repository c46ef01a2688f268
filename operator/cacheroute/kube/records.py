"""What is kept of Pods and Nodes: the few fields that decide about destinations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ZONE_LABEL = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class PodRecord:
    """A pod.

    Attributes:
        namespace: of the pod.
        name: of the pod.
        labels: of the pod.
        node: where it stands; empty while it is not scheduled.
        address: its IP address; empty while it has none.
        running: phase Running.
        ready: condition Ready is True.
        deleting: it has a deletionTimestamp.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    node: str
    address: str
    running: bool
    ready: bool
    deleting: bool


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node.

    Attributes:
        name: of the node.
        labels: of the node.
        ready: condition Ready is True.
        cordoned: spec.unschedulable.
        taints: keys of its taints, sorted.
    """

    name: str
    labels: Mapping[str, str]
    ready: bool
    cordoned: bool
    taints: tuple[str, ...]

    @property
    def zone(self) -> str:
        """Its topology zone; empty where unknown."""
        return self.labels.get(ZONE_LABEL, "")


def pod_record(body: Mapping[str, Any]) -> PodRecord:
    """Return what is kept of a Pod as the API server gives it."""
    metadata, spec, status = _part(body, "metadata"), _part(body, "spec"), _part(body, "status")
    return PodRecord(
        namespace=metadata["namespace"],
        name=metadata["name"],
        labels=dict(_part(metadata, "labels")),
        node=spec.get("nodeName") or "",
        address=status.get("podIP") or "",
        running=status.get("phase") == "Running",
        ready=_is_ready(status),
        deleting=bool(metadata.get("deletionTimestamp")),
    )


def node_record(body: Mapping[str, Any]) -> NodeRecord:
    """Return what is kept of a Node as the API server gives it."""
    metadata, spec = _part(body, "metadata"), _part(body, "spec")
    return NodeRecord(
        name=metadata["name"],
        labels=dict(_part(metadata, "labels")),
        ready=_is_ready(_part(body, "status")),
        cordoned=bool(spec.get("unschedulable")),
        taints=tuple(sorted(taint["key"] for taint in spec.get("taints") or ())),
    )


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = body.get(name) or {}
    return part


def _is_ready(status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
