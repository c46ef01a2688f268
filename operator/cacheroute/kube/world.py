"""What is observed of a cluster: RoutingPlans, Pods and Nodes, kept in one thread."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cacheroute.domain.fleet import Fleet
from cacheroute.domain.spec import InvalidSpec, PlanRef, PlanSpec
from cacheroute.kube.cache import WatchCache
from cacheroute.kube.fleet import DISRUPTION_TAINTS, observe_fleet
from cacheroute.kube.lister import Listing
from cacheroute.kube.plans import PlanEntry, entry_ref, plan_entry
from cacheroute.kube.records import NodeRecord, PodRecord, node_record, pod_record

Body = Mapping[str, Any]
DELETED = "DELETED"
"""The type of a watch event that tells of a deletion."""


class Lists(Protocol):
    """Reads everything that is watched."""

    def list(self) -> Listing:
        """Read; blocks; raises StoreError."""


class KubeWorld:
    """The World of the operator. All methods belong to one thread; ``changed`` is called there on news."""

    def __init__(
        self,
        lister: Lists,
        changed: Callable[[], None],
        disruption_taints: frozenset[str] = DISRUPTION_TAINTS,
    ) -> None:
        self._lister = lister
        self._changed = changed
        self._disruption_taints = disruption_taints
        self._plans: WatchCache[PlanRef, PlanEntry] = WatchCache()
        self._pods: WatchCache[tuple[str, str], PodRecord] = WatchCache()
        self._nodes: WatchCache[str, NodeRecord] = WatchCache()

    def specs(self) -> Mapping[PlanRef, PlanSpec]:
        """Return the newest readable spec of every RoutingPlan."""
        entries = self._plans.objects.items()
        return {ref: entry.good.spec for ref, entry in entries if entry.good is not None}

    def invalid(self) -> Mapping[PlanRef, InvalidSpec]:
        """Return every RoutingPlan whose newest spec cannot be read."""
        entries = self._plans.objects.items()
        return {ref: entry.invalid for ref, entry in entries if entry.invalid is not None}

    def fleet(self, spec: PlanSpec) -> Fleet:
        """Return the destinations of a plan; none where the plan is gone."""
        entry = self._plans.objects.get(spec.ref)
        if entry is None or entry.good is None:
            return Fleet()
        pods = (pod for pod in self._pods.objects.values() if pod.namespace == spec.ref.namespace)
        return observe_fleet(entry.good.placement, pods, self._nodes.objects, self._disruption_taints)

    def uid(self, ref: PlanRef) -> str | None:
        """Return the identity of a RoutingPlan, None where it is gone."""
        entry = self._plans.objects.get(ref)
        return entry.uid if entry else None

    def plan_event(self, kind: str | None, body: Body) -> None:
        """Take a watch event of a RoutingPlan; one that is being deleted is gone."""
        ref = entry_ref(body)
        if kind == DELETED or body["metadata"].get("deletionTimestamp"):
            self._tell(self._plans.remove(ref))
        else:
            self._tell(self._plans.put(ref, plan_entry(body, self._plans.objects.get(ref))))

    def pod_event(self, kind: str | None, body: Body) -> None:
        """Take a watch event of a Pod."""
        pod = pod_record(body)
        key = (pod.namespace, pod.name)
        self._tell(self._pods.remove(key) if kind == DELETED else self._pods.put(key, pod))

    def node_event(self, kind: str | None, body: Body) -> None:
        """Take a watch event of a Node."""
        node = node_record(body)
        self._tell(self._nodes.remove(node.name) if kind == DELETED else self._nodes.put(node.name, node))

    async def relist(self) -> None:
        """Read everything anew: the first time before anything is served, later to heal what watches missed.

        Raises:
            StoreError: something cannot be read; what is known stays.
        """
        for cache in (self._plans, self._pods, self._nodes):
            cache.begin_list()
        listing = await asyncio.to_thread(self._lister.list)
        news = (
            self._plans.end_list(self._entries(listing.plans)),
            self._pods.end_list(listing.pods),
            self._nodes.end_list(listing.nodes),
        )
        self._tell(any(news))

    def _entries(self, bodies: tuple[Body, ...]) -> dict[PlanRef, PlanEntry]:
        former = self._plans.objects
        alive = (body for body in bodies if not body["metadata"].get("deletionTimestamp"))
        return {ref: plan_entry(body, former.get(ref)) for body in alive for ref in (entry_ref(body),)}

    def _tell(self, news: bool) -> None:  # noqa: FBT001 - private, read as a sentence
        if news:
            self._changed()
