"""The access loggers that count requests and tokens by key, and by arm, when a request ends.

What belongs to no plan is not counted. Counters by key are bounded, because clients choose keys; those by arm have a
scope of their own, so that no flood of keys takes their place.
"""

from collections.abc import Iterable
from typing import Any

from cacheroute.domain import telemetry as words
from cacheroute.proxy import names
from cacheroute.proxy.messages import register_missing, typed
from cacheroute.proxy.node import ProxyNode
from cacheroute.proxy.telemetry import ARM, DECISION_HEADER
from cacheroute.proxy.tuning import Tuning

SCOPE = "cacheroute"
"""Envoy puts it before the counters' names, with a dot that its Prometheus endpoint shows as ``_``."""

_Config = dict[str, Any]
_TTFT = "%COMMON_DURATION(DS_RX_END:US_RX_BODY_BEG:ms)%"
"""From the last byte of the request to the first byte of the answer's body, over all tries."""
_BROKEN = ("UC", "UR", "LR", "UPE", "SI")
"""Response flags of answers that ended before their end: the connection or stream to the engine broke or idled."""

register_missing()


def access_log(node: ProxyNode, tuning: Tuning) -> list[_Config]:
    """Return the loggers of the listener."""
    scope = _key_scope(node, tuning)
    keyed = [_logger(scope, condition, counters=[_by_key(*what)]) for condition, what in _counted()]
    armed = [
        _logger(_arm_scope(node), condition, counters=[_by_arm(*what)])
        for condition, what in _counted_by_arm()
    ]
    return [
        *keyed,
        *armed,
        _logger(_arm_scope(node), _has("stream"), histograms=[_ttft()]),
    ]


def _key_scope(node: ProxyNode, tuning: Tuning) -> _Config:
    """Bound the memory that clients with ever new keys can take, where the proxy can."""
    if not node.bounds_counters:
        return {"stat_prefix": SCOPE}
    bounds = {"max_counters": tuning.max_counters, "enable_eviction": True}
    return {"stats_scope": {"prefix": SCOPE, "sharing_name": SCOPE, **bounds}}


def _arm_scope(node: ProxyNode) -> _Config:
    """Return a scope whose counters never go: their number is that of the plans."""
    if not node.bounds_counters:
        return {"stat_prefix": SCOPE}
    return {"stats_scope": {"prefix": SCOPE, "sharing_name": f"{SCOPE}_arms"}}


def _counted() -> Iterable[tuple[_Config, tuple[str, str | None]]]:
    """Yield a condition, the counter's name and the metadata path of what is added; None for 1."""
    yield _has("key"), (words.REQUESTS, None)
    yield _has("usage", "prompt"), (words.PROMPT_TOKENS, "usage:prompt")
    yield _has("usage", "cached"), (words.CACHED_TOKENS, "usage:cached")


def _counted_by_arm() -> Iterable[tuple[_Config, tuple[str, str | None]]]:
    yield _has("key"), (words.ARM_REQUESTS, None)
    yield _all(_has("key"), _failed()), (words.ARM_ERRORS, None)
    yield _has("usage", "prompt"), (words.ARM_PROMPT_TOKENS, "usage:prompt")
    yield _has("usage", "cached"), (words.ARM_CACHED_TOKENS, "usage:cached")


def _logger(scope: _Config, condition: _Config, **stats: list[_Config]) -> _Config:
    """Count where ``condition`` holds; Envoy logs an error for each value that is missing."""
    config = {**scope, **stats}
    return {
        **typed("envoy.access_loggers.stats", "access_loggers.stats.v3.Config", config),
        "filter": condition,
    }


def _by_key(name: str, value: str | None) -> _Config:
    labels = {
        words.LABEL_PLAN: _PLAN,
        words.LABEL_KEY: _request("key"),
        words.LABEL_DECISION: f"%RESP({DECISION_HEADER})%{_request('decision')}",
    }
    return _counter(name, value, labels)


def _by_arm(name: str, value: str | None) -> _Config:
    return _counter(name, value, _ARM_LABELS)


def _counter(name: str, value: str | None, labels: dict[str, str]) -> _Config:
    added = {"value_fixed": 1} if value is None else {"value_format": _request(value)}
    return {"stat": _stat(name, labels), **added}


def _ttft() -> _Config:
    return {
        "stat": _stat(words.ARM_TTFT, _ARM_LABELS),
        "unit": "Milliseconds",
        "value_format": _TTFT,
    }


def _stat(name: str, labels: dict[str, str]) -> _Config:
    return {
        "name": name.removeprefix(f"{SCOPE}_"),
        "tags": [{"name": label, "value_format": value} for label, value in labels.items()],
    }


def _failed() -> _Config:
    code = {"default_value": 500, "runtime_key": "cacheroute.errors.from_status"}
    status = {"status_code_filter": {"comparison": {"op": "GE", "value": code}}}
    return {"or_filter": {"filters": [status, {"response_flag_filter": {"flags": list(_BROKEN)}}]}}


def _has(*path: str) -> _Config:
    keys = [{"key": key} for key in path]
    matcher = {"filter": names.NAMESPACE, "path": keys, "value": {"present_match": True}}
    return {"metadata_filter": {"matcher": matcher, "match_if_key_not_found": False}}


def _all(*filters: _Config) -> _Config:
    return {"and_filter": {"filters": list(filters)}}


def _request(key: str) -> str:
    return f"%DYNAMIC_METADATA({names.NAMESPACE}:{key})%"


_PLAN = "%UPSTREAM_CLUSTER%"
"""A plan's cluster bears its name."""
_ARM_LABELS = {words.LABEL_PLAN: _PLAN, words.LABEL_ARM: ARM}
