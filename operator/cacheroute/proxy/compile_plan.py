"""What one plan contributes to its gateway's resources, each part with all that it was made of.

Each part is made of a source, which is the table without what that part does not need; a part of before is taken
where its source is equal. So no part can depend on what it is not compared by.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from envoy.config.route.v3 import route_pb2

from cacheroute.domain.table import RoutingTable, TableGroup
from cacheroute.proxy.clusters import cluster, endpoints
from cacheroute.proxy.routes import plan_hosts
from cacheroute.proxy.snapshot import Part, Resource, part, resource
from cacheroute.proxy.tuning import Tuning

Groups = tuple[TableGroup, ...]
_Source = TypeVar("_Source")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Made(Generic[_Source, _Result]):
    """A result, and all that it was made of."""

    source: _Source
    result: _Result


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """What one plan contributes to its gateway.

    Attributes:
        cluster: of the plan.
        endpoints: of the cluster.
        hosts: the plan's virtual hosts, a part of the RouteConfiguration.
        choices: the groups without their keys, each once.
    """

    cluster: Made[tuple[RoutingTable, Tuning], Resource]
    endpoints: Made[RoutingTable, Resource]
    hosts: Made[RoutingTable, Part]
    choices: Made[Groups, Groups]


def compile_plan(table: RoutingTable, tuning: Tuning, former: CompiledPlan | None) -> CompiledPlan:
    """Compile a plan, but for what ``former`` has of equal sources."""
    return CompiledPlan(
        cluster=made((_for_cluster(table), tuning), _cluster, former.cluster if former else None),
        endpoints=made(_for_endpoints(table), compiled_endpoints, former.endpoints if former else None),
        hosts=made(_for_hosts(table), _hosts, former.hosts if former else None),
        choices=made(table.groups, _choices, former.choices if former else None),
    )


def made(
    source: _Source, make: Callable[[_Source], _Result], former: Made[_Source, _Result] | None
) -> Made[_Source, _Result]:
    """Return ``former`` where it was made of an equal source, else what ``make`` makes."""
    return former if former is not None and former.source == source else Made(source, make(source))


def _for_cluster(table: RoutingTable) -> RoutingTable:
    return replace(bare(table), failover=table.failover, limits=table.limits)


def _for_endpoints(table: RoutingTable) -> RoutingTable:
    return replace(bare(table), endpoints=table.endpoints, groups=table.groups, explain=table.explain)


def _for_hosts(table: RoutingTable) -> RoutingTable:
    return replace(
        bare(table),
        version=table.version,
        max_key_length=table.max_key_length,
        groups=table.groups,
        planned_percent=table.planned_percent,
        explain=table.explain,
    )


def bare(table: RoutingTable) -> RoutingTable:
    """Return a table without anything but its name, for sources to be filled in."""
    return RoutingTable(
        table.ref, version="", models=(), key_sources=(), max_key_length=0, endpoints=(), groups=()
    )


def _cluster(source: tuple[RoutingTable, Tuning]) -> Resource:
    message = cluster(*source)
    return resource(message.name, message)


def compiled_endpoints(source: RoutingTable) -> Resource:
    """Return the endpoints of a plan's cluster."""
    message = endpoints(source)
    return resource(message.cluster_name, message)


def _hosts(source: RoutingTable) -> Part:
    return part(route_pb2.RouteConfiguration(virtual_hosts=plan_hosts(source)))


def _choices(groups: Groups) -> Groups:
    return tuple(dict.fromkeys(TableGroup(group.seats, group.standbys, ()) for group in groups))
