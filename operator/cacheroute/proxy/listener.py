"""The listener: it depends on a proxy's settings and on the tuning, never on plans.

A changed listener drains its connections, so everything that plans change is in the route table. The HTTP
filters are written as Envoy's own documentation writes them, and parsed into messages, which checks every name.
"""

from typing import Any

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.http.lua.v3 import lua_pb2 as _lua  # noqa: F401  registers the message
from envoy.extensions.filters.http.router.v3 import router_pb2 as _router  # noqa: F401  same
from envoy.extensions.filters.network.http_connection_manager.v3 import (  # same
    http_connection_manager_pb2 as _manager,  # noqa: F401
)
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import (  # same
    header_mutation_pb2 as _mutation,  # noqa: F401
)
from google.protobuf import json_format

from cacheroute.proxy import jwt, names, tls
from cacheroute.proxy.counters import access_log
from cacheroute.proxy.messages import typed
from cacheroute.proxy.node import ProxyNode
from cacheroute.proxy.script import lua_script
from cacheroute.proxy.settings import GatewaySettings
from cacheroute.proxy.tuning import Tuning


def listener(node: ProxyNode, tuning: Tuning) -> listener_pb2.Listener:
    """Return the listener of a proxy; it depends on the proxy's settings and on its version."""
    settings = node.settings
    chain: dict[str, Any] = {"filters": [_manager_filter(node, tuning)]}
    if settings.tls is not None:
        chain["transport_socket"] = tls.transport_socket(settings.tls)
    return json_format.ParseDict(
        {
            "name": names.LISTENER,
            "address": {"socket_address": {"address": settings.address, "port_value": settings.port}},
            "per_connection_buffer_limit_bytes": settings.max_body_bytes,
            "filter_chains": [chain],
        },
        listener_pb2.Listener(),
    )


def _manager_filter(node: ProxyNode, tuning: Tuning) -> dict[str, Any]:
    return typed(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        {
            "stat_prefix": "gateway",
            "rds": {
                "route_config_name": names.ROUTES,
                "config_source": {"ads": {}, "resource_api_version": "V3"},
            },
            "early_header_mutation_extensions": [_early_mutation()],
            "http_filters": [
                *_token_filters(node.settings),
                _lua_filter(node.settings),
                _router_filter(),
            ],
            "access_log": access_log(node, tuning),
            "local_reply_config": _local_replies(node.settings),
            "use_remote_address": True,
            "normalize_path": True,
            "merge_slashes": True,
            "server_header_transformation": "PASS_THROUGH",
            "stream_idle_timeout": f"{tuning.stream_idle_seconds}s",
            "request_headers_timeout": f"{tuning.request_header_seconds}s",
            "request_timeout": f"{tuning.request_seconds}s",
            "http2_protocol_options": {"max_concurrent_streams": tuning.max_streams},
        },
    )


def _early_mutation() -> dict[str, Any]:
    """Remove what no client may set, then start every request at the answer "no such model"."""
    start = {
        "header": {"key": names.KEY_HEADER, "value": names.COLD},
        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
    }
    return typed(
        "envoy.http.early_header_mutation.header_mutation",
        "http.early_header_mutation.header_mutation.v3.HeaderMutation",
        {
            "mutations": [
                {"remove_on_match": {"key_matcher": {"prefix": names.RESERVED_HEADERS, "ignore_case": True}}},
                {"append": start},
            ]
        },
    )


def _token_filters(settings: GatewaySettings) -> list[dict[str, Any]]:
    if not settings.jwt:
        return []
    return [typed(jwt.FILTER, "filters.http.jwt_authn.v3.JwtAuthentication", jwt.jwt_config(settings.jwt))]


def _lua_filter(settings: GatewaySettings) -> dict[str, Any]:
    """Return the filter that finds the key and reads the usage; its name is where it looks for its metadata."""
    script = lua_script(settings.max_body_bytes)
    return typed(
        names.NAMESPACE, "filters.http.lua.v3.Lua", {"default_source_code": {"inline_string": script}}
    )


def _router_filter() -> dict[str, Any]:
    return typed("envoy.filters.http.router", "filters.http.router.v3.Router", {})


def _local_replies(settings: GatewaySettings) -> dict[str, Any]:
    """Give every answer of Envoy's own the shape of an OpenAI error."""
    too_large = f"The request body is larger than this gateway accepts ({settings.max_body_bytes} bytes)."
    no_destination = "No destination of this model is up. Try again shortly."
    server_error = {"status_code_filter": {"comparison": {"op": "GE", "value": _runtime(500)}}}
    too_many = "This gateway has as many requests of this model in progress as it may. Try again shortly."
    broken = "The destination of this request failed before it answered."
    return {
        "mappers": [
            _mapper(_status(401), "authentication_error", None, "This gateway needs a valid token: "),
            _mapper(_status(413), "invalid_request_error", too_large),
            _mapper(_flags("UO"), "service_unavailable", too_many),
            _mapper(_flags("UH", "NC", "UF"), "service_unavailable", no_destination),
            _mapper(_flags("UC", "UR", "UPE"), "server_error", broken),
            _mapper(server_error, "server_error", None),
        ],
        "body_format": _error_shape("invalid_request_error"),
    }


def _mapper(condition: dict[str, Any], kind: str, text: str | None, before: str = "") -> dict[str, Any]:
    body = {"body": {"inline_string": text}} if text else {}
    return {"filter": condition, **body, "body_format_override": _error_shape(kind, before)}


def _flags(*flags: str) -> dict[str, Any]:
    return {"response_flag_filter": {"flags": list(flags)}}


def _status(code: int) -> dict[str, Any]:
    return {"status_code_filter": {"comparison": {"op": "EQ", "value": _runtime(code)}}}


def _runtime(value: int) -> dict[str, Any]:
    return {"default_value": value, "runtime_key": f"cacheroute.local_reply.{value}"}


def _error_shape(kind: str, before: str = "") -> dict[str, Any]:
    error = {"message": f"{before}%LOCAL_REPLY_BODY%", "type": kind, "param": None, "code": "%RESPONSE_CODE%"}
    return {"json_format": {"error": error}}
