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

LABEL_PLAN = "plan"
"""``<namespace>/<name>`` of the RoutingPlan."""
LABEL_KEY = "routing_key"
"""The canonical key; empty where the request had none, ``KEY_REJECTED`` where it had one that cannot be planned."""
LABEL_DECISION = "decision"
"""A ``Choice``: planned, standby or cold; empty where no destination was up."""

KEY_REJECTED = "!"
"""Label value for keys that are too long or outside the alphabet; no canonical key is spelled so."""


def exported(counter: str) -> str:
    """Return the name under which Envoy's Prometheus endpoint exports ``counter``."""
    return METRIC_PREFIX + counter


LABEL_GATEWAY = "cacheroute_gateway"
"""On every statistic of a proxy: its gateway (node.cluster)."""
LIVE = "server_live"
"""Envoy's own gauge: 1 while the proxy serves."""
