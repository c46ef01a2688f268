"""The tables of one gateway become its resources, plan by plan: what nothing changed for is not compiled again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from envoy.config.route.v3 import route_pb2

from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import RoutingTable
from cacheroute.proxy import names
from cacheroute.proxy.compile_plan import (
    CompiledPlan,
    Groups,
    Made,
    bare,
    compile_plan,
    compiled_endpoints,
    made,
)
from cacheroute.proxy.routes import common_routes, entrance
from cacheroute.proxy.snapshot import (
    CLUSTERS,
    ENDPOINTS,
    ROUTES,
    Part,
    Resource,
    Snapshot,
    joined,
    part,
    snapshot,
)
from cacheroute.proxy.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Compilation:
    """A gateway's snapshot, and what its next one may take from it.

    Attributes:
        snapshot: without listeners.
        plans: those of the snapshot, and no others.
        entrance: the virtual host where every request starts, a part of the RouteConfiguration.
        routes: the RouteConfiguration.
    """

    snapshot: Snapshot
    plans: Mapping[PlanRef, CompiledPlan]
    entrance: Made[tuple[RoutingTable, ...], Part]
    routes: Made[tuple[Part, ...], Resource]

    @property
    def choices(self) -> dict[PlanRef, Groups]:
        """Return what the keys of each plan choose from."""
        return {ref: one.choices.result for ref, one in self.plans.items()}


_NO_PLANS: Mapping[PlanRef, CompiledPlan] = MappingProxyType({})


def compile_tables(
    tables: Sequence[RoutingTable], tuning: Tuning, former: Compilation | None = None
) -> Compilation:
    """Compile the tables of all plans of one gateway.

    Args:
        tables: one for each plan.
        tuning: numbers of the compiled configuration.
        former: an earlier one; the snapshot is the same without it, and there is more to do.
    """
    before = former.plans if former else _NO_PLANS
    plans = {table.ref: compile_plan(table, tuning, before.get(table.ref)) for table in tables}
    start = made(tuple(map(_for_entrance, tables)), _entrance, former.entrance if former else None)
    common = part(common_routes(tables[0] if tables else None))
    parts = (common, start.result, *(one.hosts.result for one in plans.values()))
    routes = made(parts, _routes, former.routes if former else None)
    resources = {
        CLUSTERS: [one.cluster.result for one in plans.values()],
        ENDPOINTS: [one.endpoints.result for one in plans.values()],
        ROUTES: [routes.result],
    }
    return Compilation(snapshot(resources), plans, start, routes)


def bridge(old: Sequence[RoutingTable], new: Sequence[RoutingTable]) -> dict[str, Resource]:
    """Return endpoints of ``new`` that are also in the sets which the routes of ``old`` name, by cluster name."""
    before = {table.ref: table.groups for table in old}
    changed = (table for table in new if before.get(table.ref, table.groups) != table.groups)
    both = (
        compiled_endpoints(replace(table, groups=(*before[table.ref], *table.groups))) for table in changed
    )
    return {one.name: one for one in both}


def _for_entrance(table: RoutingTable) -> RoutingTable:
    return replace(
        bare(table),
        models=table.models,
        key_sources=table.key_sources,
        max_key_length=table.max_key_length,
    )


def _entrance(sources: tuple[RoutingTable, ...]) -> Part:
    return part(route_pb2.RouteConfiguration(virtual_hosts=[entrance(sources)]))


def _routes(parts: tuple[Part, ...]) -> Resource:
    return joined(names.ROUTES, route_pb2.RouteConfiguration.DESCRIPTOR.full_name, parts)
