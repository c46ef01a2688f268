"""Small tables that tests start from."""

from collections.abc import Sequence

from envoy.config.route.v3 import route_pb2
from envoy.service.discovery.v3 import discovery_pb2

from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import Endpoint, RoutingTable, TableGroup
from cacheroute.proxy.compile import compile_tables
from cacheroute.proxy.snapshot import ROUTES
from cacheroute.proxy.tuning import Tuning

SOURCES = (KeySource(KeySourceKind.HEADER, "x-tenant-id"), KeySource(KeySourceKind.BODY_FIELD, "user"))
GROUPS = (
    TableGroup((0,), (1,), ("alice", "org/team:a")),
    TableGroup((1,), (0,), ("bob",)),
    TableGroup((0, 1), (2,), ("shared",)),
)


def endpoint(number: int, seat: int | None = None, *, draining: bool = False) -> Endpoint:
    return Endpoint(f"pod-{number}", f"10.0.0.{number}", 8000, draining, seat)


ENDPOINTS = (endpoint(1, 0), endpoint(2, 1), endpoint(3, 2), endpoint(4), endpoint(5, draining=True))


def table(
    name: str = "llama",
    models: tuple[str, ...] = ("llama",),
    endpoints: tuple[Endpoint, ...] = ENDPOINTS,
    groups: tuple[TableGroup, ...] = GROUPS,
) -> RoutingTable:
    return RoutingTable(
        ref=PlanRef("inference", name),
        version="abc",
        models=models,
        key_sources=SOURCES,
        max_key_length=64,
        endpoints=endpoints,
        groups=groups,
    )


def route_configuration(tables: Sequence[RoutingTable]) -> route_pb2.RouteConfiguration:
    """Return the route table that a proxy reads from what it is sent."""
    (sent,) = compile_tables(tables, Tuning()).snapshot.of(ROUTES).values()
    frame, routes = discovery_pb2.Resource.FromString(sent.frame), route_pb2.RouteConfiguration()
    assert frame.resource.Unpack(routes)
    return routes
