"""The bootstrap of an Envoy that belongs to a gateway: where the operator is, and what it may show of itself."""

from dataclasses import dataclass
from typing import Any

from cacheroute.domain.telemetry import ARM_TTFT, LABEL_GATEWAY, TTFT_BUCKETS
from cacheroute.proxy import jwks
from cacheroute.proxy.node import METADATA
from cacheroute.proxy.settings import (
    DEFAULT_ADDRESS,
    DEFAULT_BODY_BYTES,
    DEFAULT_PORT,
    GatewaySettings,
    JwtProvider,
    TlsSettings,
)
from cacheroute.proxy.xds_client_tls import XdsClientTls, transport_socket

ADMIN_CLUSTER = "admin"
XDS_CLUSTER = "xds"

_CONNECTIONS_MONITOR = "envoy.resource_monitors.global_downstream_max_connections"
_HEAP_MONITOR = "envoy.resource_monitors.fixed_heap"
_SHRINK_AT, _REFUSE_AT, _REJECT_AT = 0.85, 0.95, 0.98
"""Shares of the heap: unused memory is given back, new requests are answered 503, new connections are closed: what a
refused client goes on sending is held until its connection is closed."""


@dataclass(frozen=True, slots=True)
class Place:
    """A host name or IP address, and a TCP port."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BootstrapSettings:
    """What a bootstrap depends on.

    Attributes:
        gateway: the fleet that the proxy belongs to, spec.gateway of RoutingPlans.
        node: unique name of the proxy; empty to leave it to Envoy's flag --service-node.
        xds: where the operator serves xDS.
        listen: where the proxy listens for clients.
        stats: where it serves GET /stats/prometheus and /ready.
        admin: Envoy's own administration, which can change things: keep it on loopback.
        max_connections: client connections that are accepted at the same time.
        eviction_seconds: a counter that nobody touched for this long is dropped, which bounds the memory
            that clients with ever new keys can take; a multiple of 5 (Envoy's flush interval).
        tls: the certificates of the connection to the operator; None for plain text.
        max_body_bytes: largest request body; a larger one is answered with 413.
        jwt: whose tokens the proxy verifies.
        client_tls: how it speaks TLS with clients; None for plain HTTP.
        max_heap_bytes: memory that the proxy may take for everything; near it new requests are answered 503. 0 for
            no bound.
    """

    gateway: str
    node: str = ""
    xds: Place = Place("127.0.0.1", 18000)
    listen: Place = Place(DEFAULT_ADDRESS, DEFAULT_PORT)
    stats: Place = Place(DEFAULT_ADDRESS, 9902)
    admin: Place = Place("127.0.0.1", 9901)
    max_connections: int = 50_000
    eviction_seconds: int = 900
    tls: XdsClientTls | None = None
    max_body_bytes: int = DEFAULT_BODY_BYTES
    jwt: tuple[JwtProvider, ...] = ()
    client_tls: TlsSettings | None = None
    max_heap_bytes: int = 0


def bootstrap(settings: BootstrapSettings) -> dict[str, Any]:
    """Return an envoy.config.bootstrap.v3.Bootstrap as JSON-like values."""
    return {
        "node": _node(settings),
        "admin": {"address": _address(settings.admin)},
        "static_resources": {
            "listeners": [_stats_listener(settings.stats)],
            "clusters": [
                _xds_cluster(settings),
                _static_cluster(ADMIN_CLUSTER, settings.admin),
                *jwks.clusters(settings.jwt),
            ],
        },
        "dynamic_resources": _dynamic_resources(),
        "stats_config": _stats_config(settings.gateway),
        "stats_eviction_interval": f"{settings.eviction_seconds}s",
        "overload_manager": _overload_manager(settings),
    }


def _stats_config(gateway: str) -> dict[str, Any]:
    """Label every statistic with the gateway, and give the time to the first token buckets that fit engines."""
    name = ARM_TTFT.replace("_", ".", 1)
    buckets = {"match": {"prefix": name}, "buckets": [float(bound) for bound in TTFT_BUCKETS]}
    return {
        "stats_tags": [{"tag_name": LABEL_GATEWAY, "fixed_value": gateway}],
        "histogram_bucket_settings": [buckets],
    }


def _node(settings: BootstrapSettings) -> dict[str, Any]:
    identity = {"id": settings.node} if settings.node else {}
    return {**identity, "cluster": settings.gateway, "metadata": {METADATA: _listener_settings(settings)}}


def _listener_settings(settings: BootstrapSettings) -> dict[str, Any]:
    """Return what the operator needs to know to make the proxy's listener."""
    always = {
        "address": settings.listen.host,
        "port": settings.listen.port,
        "maxBodyBytes": settings.max_body_bytes,
    }
    wanted = GatewaySettings(jwt=settings.jwt, tls=settings.client_tls)
    return {**always, **wanted.model_dump(mode="json", by_alias=True, exclude_defaults=True)}


def _dynamic_resources() -> dict[str, Any]:
    """Wait for the operator however long it takes: a proxy without routes would answer 404 to everything."""
    source = {"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"}
    return {
        "ads_config": {
            "api_type": "DELTA_GRPC",
            "transport_api_version": "V3",
            "set_node_on_first_message_only": True,
            "grpc_services": [
                {
                    "envoy_grpc": {
                        "cluster_name": XDS_CLUSTER,
                        "retry_policy": {"retry_back_off": {"base_interval": "0.2s", "max_interval": "5s"}},
                    }
                }
            ],
        },
        "cds_config": source,
        "lds_config": source,
    }


def _xds_cluster(settings: BootstrapSettings) -> dict[str, Any]:
    http2 = {"connection_keepalive": {"interval": "30s", "timeout": "5s"}}
    options = {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": http2},
    }
    place, tls = settings.xds, settings.tls
    return {
        **_static_cluster(XDS_CLUSTER, place),
        "type": "STRICT_DNS",
        **({"transport_socket": transport_socket(tls, place.host)} if tls else {}),
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options
        },
    }


def _static_cluster(name: str, place: Place) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": _address(place)}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }


def _stats_listener(place: Place) -> dict[str, Any]:
    """Show two read-only pages of the administration, and nothing else of it."""
    only_get = [{"name": ":method", "string_match": {"exact": "GET"}}]
    routes = [
        {"match": {"path": path, "headers": only_get}, "route": {"cluster": ADMIN_CLUSTER}}
        for path in ("/stats/prometheus", "/ready")
    ]
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "stats",
        "route_config": {"virtual_hosts": [{"name": "stats", "domains": ["*"], "routes": routes}]},
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
                },
            }
        ],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {
        "name": "stats",
        "address": _address(place),
        "filter_chains": [chain],
        "ignore_global_conn_limit": True,
        "bypass_overload_manager": True,
    }


def _overload_manager(settings: BootstrapSettings) -> dict[str, Any]:
    connections = _monitor(
        _CONNECTIONS_MONITOR,
        "downstream_connections.v3.DownstreamConnectionsConfig",
        max_active_downstream_connections=settings.max_connections,
    )
    if not settings.max_heap_bytes:
        return {"resource_monitors": [connections]}
    size = settings.max_heap_bytes
    heap = _monitor(_HEAP_MONITOR, "fixed_heap.v3.FixedHeapConfig", max_heap_size_bytes=size)
    return {
        "refresh_interval": "0.1s",
        "resource_monitors": [connections, heap],
        "actions": [
            _action("shrink_heap", {"threshold": {"value": _SHRINK_AT}}),
            _action("stop_accepting_requests", {"threshold": {"value": _REFUSE_AT}}),
            _action("reject_incoming_connections", {"threshold": {"value": _REJECT_AT}}),
        ],
    }


def _monitor(name: str, kind: str, **config: int) -> dict[str, Any]:
    typed = {"@type": f"type.googleapis.com/envoy.extensions.resource_monitors.{kind}", **config}
    return {"name": name, "typed_config": typed}


def _action(name: str, trigger: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"envoy.overload_actions.{name}", "triggers": [{"name": _HEAP_MONITOR, **trigger}]}


def _address(place: Place) -> dict[str, Any]:
    return {"socket_address": {"address": place.host, "port_value": place.port}}
