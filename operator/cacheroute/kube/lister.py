"""Reads whole collections: what watches told may have gaps, a list has none."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes import client

from cacheroute.kube.client import REQUEST_TIMEOUT, translated
from cacheroute.kube.names import GROUP, PLURAL, VERSION
from cacheroute.kube.records import NodeRecord, PodRecord, node_record, pod_record

PAGE = 500
"""Objects asked for at a time."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything that is watched, at one time.

    Attributes:
        plans: RoutingPlans as the API server gives them.
        pods: by namespace and name.
        nodes: by name.
    """

    plans: tuple[Mapping[str, Any], ...]
    pods: Mapping[tuple[str, str], PodRecord]
    nodes: Mapping[str, NodeRecord]


class Lister:
    """Lists RoutingPlans, Pods and Nodes; blocks, so call it in a thread of its own."""

    def __init__(self, api: client.ApiClient, namespaces: tuple[str, ...] = ()) -> None:
        """Take the namespaces to look at; none means all."""
        self._core, self._custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
        self._namespaces = namespaces

    def list(self) -> Listing:
        """Read everything; nodes first, so that no pod is seen without its node.

        Raises:
            StoreError: something cannot be read.
        """
        nodes = [node_record(body) for body in self._nodes()]
        pods = [pod_record(body) for body in self._everywhere(self._pods)]
        return Listing(
            plans=tuple(self._everywhere(self._plans)),
            pods={(pod.namespace, pod.name): pod for pod in pods},
            nodes={node.name: node for node in nodes},
        )

    def check(self) -> None:
        """Ask for the first page of everything, to see that it is served and may be read.

        Raises:
            StoreError: something cannot be read; a CustomResourceDefinition that is missing, for instance.
        """
        for objects in (self._nodes(), self._everywhere(self._pods), self._everywhere(self._plans)):
            next(objects, None)

    def _nodes(self) -> Iterator[Mapping[str, Any]]:
        return _pages("nodes", self._core.list_node)

    def _everywhere(
        self, read: Callable[[str | None], Iterator[Mapping[str, Any]]]
    ) -> Iterator[Mapping[str, Any]]:
        for namespace in self._namespaces or (None,):
            yield from read(namespace)

    def _pods(self, namespace: str | None) -> Iterator[Mapping[str, Any]]:
        if namespace is None:
            return _pages("pods", self._core.list_pod_for_all_namespaces)
        return _pages(f"pods of {namespace}", self._core.list_namespaced_pod, namespace)

    def _plans(self, namespace: str | None) -> Iterator[Mapping[str, Any]]:
        if namespace is None:
            return _pages(PLURAL, self._custom.list_cluster_custom_object, GROUP, VERSION, PLURAL)
        what = f"{PLURAL} of {namespace}"
        return _pages(what, self._custom.list_namespaced_custom_object, GROUP, VERSION, namespace, PLURAL)


def _pages(what: str, call: Callable[..., Any], *arguments: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a collection, page by page, as plain JSON (the client's models are slow)."""
    token: str | None = ""
    while token is not None:
        options = {"limit": PAGE} | ({"_continue": token} if token else {})
        with translated(f"listing {what}"):
            answer = call(*arguments, **options, _preload_content=False, _request_timeout=REQUEST_TIMEOUT)
        document = json.loads(answer.data)
        yield from document["items"]
        token = document["metadata"].get("continue") or None
