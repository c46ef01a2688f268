"""The listener: it depends on a proxy's settings and on the tuning, never on plans.

A changed listener drains its connections, so everything that plans change is in the route table. The HTTP
filters are written as Envoy's own documentation writes them, and parsed into messages, which checks every name.
"""

from typing import Any

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.http.json_to_metadata.v3 import (  # registers the message
    json_to_metadata_pb2 as _json,  # noqa: F401
)
from envoy.extensions.filters.http.lua.v3 import lua_pb2 as _lua  # noqa: F401  same
from envoy.extensions.filters.http.router.v3 import router_pb2 as _router  # noqa: F401  same
from envoy.extensions.filters.network.http_connection_manager.v3 import (  # same
    http_connection_manager_pb2 as _manager,  # noqa: F401
)
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import (  # same
    header_mutation_pb2 as _mutation,  # noqa: F401
)
from google.protobuf import json_format

from cacheroute.domain import telemetry as words
from cacheroute.proxy import jwt, names, tls
from cacheroute.proxy.messages import register_missing
from cacheroute.proxy.node import ProxyNode
from cacheroute.proxy.script import lua_script
from cacheroute.proxy.settings import GatewaySettings
from cacheroute.proxy.telemetry import DECISION
from cacheroute.proxy.tuning import Tuning

_TYPES = "type.googleapis.com/envoy.extensions."
_USAGE = {
    "prompt_tokens": ("usage", "prompt_tokens"),
    "cached_tokens": ("usage", "prompt_tokens_details", "cached_tokens"),
}
"""Our metadata key → where the engine's answer has it (OpenAI API, object ``usage``)."""

_JSON_TYPES = "application/json *(;.*)?"
_TOKENS = {words.PROMPT_TOKENS: "prompt_tokens", words.CACHED_TOKENS: "cached_tokens"}
"""Counter → our metadata key."""
_SCOPE = "cacheroute"
"""Envoy puts it before the counters' names, with a dot that its Prometheus endpoint shows as ``_``."""

register_missing()


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
    return _typed(
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
                _lua_filter(),
                _json_usage(),
                _sse_usage(),
                _router_filter(),
            ],
            "access_log": _counters(_scope(node, tuning)),
            "local_reply_config": _local_replies(node.settings),
            "use_remote_address": True,
            "normalize_path": True,
            "merge_slashes": True,
            "server_header_transformation": "PASS_THROUGH",
            "stream_idle_timeout": f"{tuning.stream_idle_seconds}s",
            "request_headers_timeout": f"{tuning.request_header_seconds}s",
            "http2_protocol_options": {"max_concurrent_streams": tuning.max_streams},
        },
    )


def _early_mutation() -> dict[str, Any]:
    """Remove what no client may set, then start every request at the answer "no such model"."""
    start = {
        "header": {"key": names.KEY_HEADER, "value": names.COLD},
        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
    }
    return _typed(
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
    return [_typed(jwt.FILTER, "filters.http.jwt_authn.v3.JwtAuthentication", jwt.jwt_config(settings.jwt))]


def _lua_filter() -> dict[str, Any]:
    """Return the filter that finds the key; its name is where it looks for its metadata."""
    return _typed(
        names.NAMESPACE, "filters.http.lua.v3.Lua", {"default_source_code": {"inline_string": lua_script()}}
    )


def _json_usage() -> dict[str, Any]:
    return _typed(
        "envoy.filters.http.json_to_metadata",
        "filters.http.json_to_metadata.v3.JsonToMetadata",
        {"response_rules": {"rules": _usage_rules(), "allow_content_types_regex": {"regex": _JSON_TYPES}}},
    )


def _sse_usage() -> dict[str, Any]:
    parser = _typed(
        "envoy.content_parsers.json",
        "content_parsers.json.v3.JsonContentParser",
        {"rules": [{"rule": rule} for rule in _usage_rules()]},
    )
    return _typed(
        "envoy.filters.http.sse_to_metadata",
        "filters.http.sse_to_metadata.v3.SseToMetadata",
        {"response_rules": {"content_parser": parser}},
    )


def _usage_rules() -> list[dict[str, Any]]:
    return [
        {
            "selectors": [{"key": step} for step in path],
            "on_present": {"metadata_namespace": names.NAMESPACE, "key": key, "type": "NUMBER"},
        }
        for key, path in _USAGE.items()
    ]


def _router_filter() -> dict[str, Any]:
    return _typed("envoy.filters.http.router", "filters.http.router.v3.Router", {})


def _scope(node: ProxyNode, tuning: Tuning) -> dict[str, Any]:
    """Bound the memory that clients with ever new keys can take, where the proxy can."""
    if not node.bounds_counters:
        return {"stat_prefix": _SCOPE}
    bounds = {"max_counters": tuning.max_counters, "enable_eviction": True}
    return {"stats_scope": {"prefix": _SCOPE, "sharing_name": _SCOPE, **bounds}}


def _counters(scope: dict[str, Any]) -> list[dict[str, Any]]:
    """Count what belongs to a plan when its request ends, and tokens where the engine reported them."""
    tokens = [
        _counter(scope, key, {"stat": _stat(name), "value_format": _request(key)})
        for name, key in _TOKENS.items()
    ]
    return [_counter(scope, "plan", {"stat": _stat(words.REQUESTS), "value_fixed": 1}), *tokens]


def _counter(scope: dict[str, Any], condition: str, counter: dict[str, Any]) -> dict[str, Any]:
    """Count where the request has the metadata ``condition``; Envoy logs an error for each value that is missing."""
    has = {"filter": names.NAMESPACE, "path": [{"key": condition}], "value": {"present_match": True}}
    config = {**scope, "counters": [counter]}
    return {
        **_typed("envoy.access_loggers.stats", "access_loggers.stats.v3.Config", config),
        "filter": {"metadata_filter": {"matcher": has, "match_if_key_not_found": False}},
    }


def _stat(name: str) -> dict[str, Any]:
    labels = {
        words.LABEL_PLAN: _request("plan"),
        words.LABEL_KEY: _request("key"),
        words.LABEL_DECISION: DECISION,
    }
    return {
        "name": name.removeprefix(f"{_SCOPE}_"),
        "tags": [{"name": label, "value_format": value} for label, value in labels.items()],
    }


def _request(key: str) -> str:
    return f"%DYNAMIC_METADATA({names.NAMESPACE}:{key})%"


def _local_replies(settings: GatewaySettings) -> dict[str, Any]:
    """Give every answer of Envoy's own the shape of an OpenAI error."""
    too_large = f"The request body is larger than this gateway accepts ({settings.max_body_bytes} bytes)."
    no_destination = "No destination of this model is up. Try again shortly."
    server_error = {"status_code_filter": {"comparison": {"op": "GE", "value": _runtime(500)}}}
    no_host = {"response_flag_filter": {"flags": ["UH", "NC", "UF"]}}
    return {
        "mappers": [
            _mapper(_status(401), "authentication_error", None, "This gateway needs a valid token: "),
            _mapper(_status(413), "invalid_request_error", too_large),
            _mapper(no_host, "service_unavailable", no_destination),
            _mapper(server_error, "server_error", None),
        ],
        "body_format": _error_shape("invalid_request_error"),
    }


def _mapper(condition: dict[str, Any], kind: str, text: str | None, before: str = "") -> dict[str, Any]:
    body = {"body": {"inline_string": text}} if text else {}
    return {"filter": condition, **body, "body_format_override": _error_shape(kind, before)}


def _status(code: int) -> dict[str, Any]:
    return {"status_code_filter": {"comparison": {"op": "EQ", "value": _runtime(code)}}}


def _runtime(value: int) -> dict[str, Any]:
    return {"default_value": value, "runtime_key": f"cacheroute.local_reply.{value}"}


def _error_shape(kind: str, before: str = "") -> dict[str, Any]:
    error = {"message": f"{before}%LOCAL_REPLY_BODY%", "type": kind, "param": None, "code": "%RESPONSE_CODE%"}
    return {"json_format": {"error": error}}


def _typed(name: str, message: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "typed_config": {"@type": _TYPES + message, **config}}
