"""What one gateway's proxies are served: resources with versions that are their content."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import Message

from cacheroute.domain.table import RoutingTable
from cacheroute.proxy.clusters import cluster, endpoints
from cacheroute.proxy.messages import packed
from cacheroute.proxy.routes import route_configuration
from cacheroute.proxy.tuning import Tuning

_TYPE = "type.googleapis.com/envoy.config."
CLUSTERS = _TYPE + "cluster.v3.Cluster"
ENDPOINTS = _TYPE + "endpoint.v3.ClusterLoadAssignment"
LISTENERS = _TYPE + "listener.v3.Listener"
ROUTES = _TYPE + "route.v3.RouteConfiguration"

ALL_NAMES = "*"
"""In ``Snapshot.withheld``: all resources of the type."""
_VERSION_LENGTH = 16
_ROUTE_TABLES_KEPT = 8


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource, serialised once and shared between all streams.

    Attributes:
        name: as Envoy subscribes to it.
        version: content hash, hexadecimal.
        frame: serialised envoy.service.discovery.v3.Resource.
    """

    name: str
    version: str
    frame: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All resources of a gateway, by type URL and name.

    Attributes:
        version: content hash over all resources.
        resources: type URL → name → resource; the listener is added for each proxy.
        withheld: (type URL, name or ``*``) of what is not here and yet may be in a proxy: it keeps what it has,
            and who has none waits for an answer.
    """

    version: str
    resources: Mapping[str, Mapping[str, Resource]]
    withheld: frozenset[tuple[str, str]] = frozenset()

    def of(self, type_url: str) -> Mapping[str, Resource]:
        """Return the resources of one type by name."""
        return self.resources.get(type_url, _NOTHING)

    def withholds(self, type_url: str, name: str) -> bool:
        """Whether a proxy that has this resource shall keep it although it is not here."""
        return bool({(type_url, name), (type_url, ALL_NAMES)} & self.withheld)

    def withholds_some(self, type_url: str) -> bool:
        """Whether any resource of the type is withheld."""
        return any(kind == type_url for kind, _ in self.withheld)


_NOTHING: Mapping[str, Resource] = MappingProxyType({})


def resource(name: str, message: Message) -> Resource:
    """Serialise a resource; equal messages give equal bytes and versions."""
    content = packed(message)
    version = hashlib.sha256(content.value).hexdigest()[:_VERSION_LENGTH]
    frame = discovery_pb2.Resource(name=name, version=version, resource=content)
    return Resource(name, version, frame.SerializeToString(deterministic=True))


def snapshot(resources: Mapping[str, Iterable[Resource]]) -> Snapshot:
    """Put resources together; the version does not depend on their order."""
    by_type = {kind: {one.name: one for one in some} for kind, some in resources.items()}
    versions = sorted(
        f"{kind} {name} {one.version}" for kind, some in by_type.items() for name, one in some.items()
    )
    digest = hashlib.sha256("\n".join(versions).encode()).hexdigest()
    return Snapshot(digest[:_VERSION_LENGTH], by_type)


def compile_tables(tables: Sequence[RoutingTable], tuning: Tuning) -> Snapshot:
    """Compile the tables of all plans of one gateway; a pure function of their content."""
    clusters = [cluster(table, tuning) for table in tables]
    assignments = [endpoints(table) for table in tables]
    routes = _routes(tuple(replace(table, endpoints=()) for table in tables))
    return snapshot(
        {
            CLUSTERS: [resource(one.name, one) for one in clusters],
            ENDPOINTS: [resource(one.cluster_name, one) for one in assignments],
            ROUTES: [routes],
        }
    )


def bridge(old: Sequence[RoutingTable], new: Sequence[RoutingTable]) -> dict[str, Resource]:
    """Return endpoints of ``new`` that are also in the sets which the routes of ``old`` name, by cluster name."""
    before = {table.ref: table.groups for table in old}
    changed = (table for table in new if before.get(table.ref, table.groups) != table.groups)
    both = (endpoints(replace(table, groups=(*before[table.ref], *table.groups))) for table in changed)
    return {one.cluster_name: resource(one.cluster_name, one) for one in both}


@lru_cache(maxsize=_ROUTE_TABLES_KEPT)
def _routes(tables: tuple[RoutingTable, ...]) -> Resource:
    """Compile the route table; endpoints are no part of it, so the loss of one finds it compiled."""
    routes = route_configuration(tables)
    return resource(routes.name, routes)
