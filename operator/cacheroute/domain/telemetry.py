"""Names of the gateway's counters: Envoy is configured with them and PromQL asks for them.

Envoy's stats access logger counts them when a request ends (envoy.access_loggers.stats); Envoy's Prometheus
endpoint puts ``envoy_`` in front.
"""

METRIC_PREFIX = "envoy_"
REQUESTS = "cacheroute_requests"
"""Requests that ended, by plan, key and decision."""
PROMPT_TOKENS = "cacheroute_prompt_tokens"
"""Prompt tokens that engines reported, by plan, key and decision."""
CACHED_TOKENS = "cacheroute_cached_tokens"
"""Prompt tokens that engines served from their prefix cache, by plan, key and decision."""

ARM_REQUESTS = "cacheroute_arm_requests"
"""Requests that ended, by plan and arm."""
ARM_ERRORS = "cacheroute_arm_errors"
"""Those of them that were answered with 5xx, or whose answer broke off on the engine's side, by plan and arm."""
ARM_PROMPT_TOKENS = "cacheroute_arm_prompt_tokens"
"""Prompt tokens that engines reported, by plan and arm."""
ARM_CACHED_TOKENS = "cacheroute_arm_cached_tokens"
"""Prompt tokens that engines served from their prefix cache, by plan and arm."""
ARM_TTFT = "cacheroute_arm_ttft_milliseconds"
"""Time to first token of streamed answers, a histogram: from the end of the request to the first byte of the answer's body, by plan and arm."""
TTFT_BUCKETS = (
    *(5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1000, 1300, 1700, 2200, 3000, 4000),
    *(5500, 7500, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 90_000, 120_000),
)
"""Upper bounds of the histogram's buckets, milliseconds."""

LABEL_PLAN = "plan"
"""``<namespace>/<name>`` of the RoutingPlan; empty where its cluster went while a request of it was still being sent."""
LABEL_KEY = "routing_key"
"""The canonical key; empty where the request had none, ``KEY_REJECTED`` where it had one that cannot be planned."""
LABEL_DECISION = "decision"
"""A ``Choice``: planned, standby or cold; empty where no destination was up."""
LABEL_ARM = "arm"
"""Of requests of admitted keys: plan (routed by plan) or flat (by power of two choices); empty for all others."""

FIGURE = "figure"
"""Label that our own queries put on each part of an answer."""

KEY_REJECTED = "!"
"""Label value for keys that are too long or outside the alphabet; no canonical key is spelled so."""


def exported(counter: str) -> str:
    """Return the name under which Envoy's Prometheus endpoint exports ``counter``."""
    return METRIC_PREFIX + counter


LABEL_GATEWAY = "cacheroute_gateway"
"""On every statistic of a proxy: its gateway (node.cluster)."""
LIVE = "server_live"
"""Envoy's own gauge: 1 while the proxy serves."""
UNCOUNTED = "server_stats_overflow_counter"
"""Envoy's own counter, without labels: additions that were dropped because there are as many counters as the proxy may keep."""
