"""One cluster for each plan, and its endpoints with the sets that they are in.

All destinations of a plan stay in one cluster, because Envoy counts active requests per host and cluster: the
power-of-two choice of the cold traffic must see the planned traffic, and the other way round.
"""

from collections.abc import Iterable

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import address_pb2, base_pb2, config_source_pb2, health_check_pb2
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from envoy.type.v3 import percent_pb2
from google.protobuf import struct_pb2

from cacheroute.domain.table import Endpoint, RoutingTable
from cacheroute.proxy import upstream
from cacheroute.proxy.messages import milliseconds, packed, seconds, uint32
from cacheroute.proxy.names import cluster_name, set_name
from cacheroute.proxy.tuning import Tuning

HOST_METADATA = "envoy.lb"
"""Where Envoy's subset load balancer looks for what endpoints carry."""
SET = "set"
DESTINATION = "destination"

_HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_CHOICES = 2
_Subsets = cluster_pb2.Cluster.LbSubsetConfig
_Selector = _Subsets.LbSubsetSelector


def cluster(table: RoutingTable, tuning: Tuning) -> cluster_pb2.Cluster:
    """Return the cluster of a plan; it depends on its name, failover and limits.

    What names no set goes to the whole fleet. A set without endpoints, a vacant seat, has no fallback besides the
    routes' own lists: with ANY_ENDPOINT there it would be served by the fleet before the list comes to its standby.
    """
    return cluster_pb2.Cluster(
        name=cluster_name(table.ref),
        type=cluster_pb2.Cluster.EDS,
        eds_cluster_config=cluster_pb2.Cluster.EdsClusterConfig(eds_config=ads_source()),
        connect_timeout=milliseconds(tuning.connect_milliseconds),
        lb_policy=cluster_pb2.Cluster.LEAST_REQUEST,
        least_request_lb_config=_least_request(table.failover.slow_start_seconds),
        common_lb_config=_common_lb_config(),
        lb_subset_config=_Subsets(
            fallback_policy=_Subsets.ANY_ENDPOINT,
            metadata_fallback_policy=_Subsets.FALLBACK_LIST,
            list_as_any=True,
            subset_selectors=[_Selector(keys=[SET], fallback_policy=_Selector.NO_FALLBACK)],
        ),
        health_checks=upstream.health_checks(table.failover.health_check),
        outlier_detection=upstream.outlier_detection(table.failover.health_check, tuning),
        circuit_breakers=upstream.circuit_breakers(table.limits),
        ignore_health_on_host_removal=True,
        upstream_connection_options=upstream.keepalive(),
        upstream_bind_config=upstream.bind_config(table.failover.unreachable_milliseconds),
        typed_extension_protocol_options={
            _HTTP_OPTIONS: packed(upstream.http_options(table.failover, tuning))
        },
    )


def endpoints(table: RoutingTable) -> endpoint_pb2.ClusterLoadAssignment:
    """Return the endpoints of a plan's cluster; an empty list is a valid answer."""
    sets = _sets_by_seat(table)
    hosts = [_host(one, sets.get(one.seat, ()), explain=table.explain) for one in table.endpoints]
    locality = endpoint_components_pb2.LocalityLbEndpoints(lb_endpoints=hosts)
    return endpoint_pb2.ClusterLoadAssignment(
        cluster_name=cluster_name(table.ref), endpoints=[locality] if hosts else []
    )


def ads_source() -> config_source_pb2.ConfigSource:
    """Return the source that means: on the stream that is already there."""
    return config_source_pb2.ConfigSource(
        ads=config_source_pb2.AggregatedConfigSource(), resource_api_version=config_source_pb2.V3
    )


def _sets_by_seat(table: RoutingTable) -> dict[int | None, tuple[str, ...]]:
    filled = {one.seat for one in table.endpoints if one.seat is not None}
    sets: dict[int | None, set[str]] = {seat: {set_name((seat,))} for seat in filled}
    for seats in _shared_sets(table):
        for seat in filled.intersection(seats):
            sets[seat].add(set_name(seats))
    return {seat: tuple(sorted(names)) for seat, names in sets.items()}


def _shared_sets(table: RoutingTable) -> Iterable[tuple[int, ...]]:
    choices = {seats for group in table.groups for seats in (group.seats, group.standbys)}
    return (seats for seats in choices if len(seats) > 1)


def _host(endpoint: Endpoint, sets: tuple[str, ...], *, explain: bool) -> endpoint_components_pb2.LbEndpoint:
    """Return an endpoint; its name is in its metadata only where answers may tell it."""
    address = address_pb2.SocketAddress(address=endpoint.address, port_value=endpoint.port)
    names = struct_pb2.ListValue(values=[struct_pb2.Value(string_value=name) for name in sets])
    metadata = struct_pb2.Struct(fields={SET: struct_pb2.Value(list_value=names)})
    if explain:
        metadata.fields[DESTINATION].string_value = endpoint.name
    return endpoint_components_pb2.LbEndpoint(
        endpoint=endpoint_components_pb2.Endpoint(address=address_pb2.Address(socket_address=address)),
        health_status=health_check_pb2.DRAINING if endpoint.draining else health_check_pb2.UNKNOWN,
        metadata=base_pb2.Metadata(filter_metadata={HOST_METADATA: metadata}),
    )


def _least_request(slow_start_seconds: int) -> cluster_pb2.Cluster.LeastRequestLbConfig:
    """Take the less loaded of two; with a slow start, by weights while any destination is new."""
    config = cluster_pb2.Cluster.LeastRequestLbConfig(choice_count=uint32(_CHOICES))
    if slow_start_seconds:
        config.slow_start_config.slow_start_window.CopyFrom(seconds(slow_start_seconds))
    return config


def _common_lb_config() -> cluster_pb2.Cluster.CommonLbConfig:
    """Act on every ejection at once.

    Envoy merges health changes within a second by default: when two destinations go together, tries to the
    second one would go on for that second. Without healthy destinations it must not panic and try all.
    """
    return cluster_pb2.Cluster.CommonLbConfig(
        healthy_panic_threshold=percent_pb2.Percent(value=0), update_merge_window=seconds(0)
    )
