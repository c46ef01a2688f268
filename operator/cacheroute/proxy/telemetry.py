"""What the listener counts and how it is decided who served a request."""

from cacheroute.proxy.names import NAMESPACE

_ROUTE = f"xds.route_metadata.filter_metadata['{NAMESPACE}']"
ARM = f"%METADATA(ROUTE:{NAMESPACE}:arm)%"
"""plan or flat for a request of an admitted key, empty for others."""
_HOST = "xds.upstream_host_metadata.filter_metadata['envoy.lb'].set"
DECISION = f"%CEL({_ROUTE}['planned'] in {_HOST} ? 'planned' : ({_ROUTE}['standby'] in {_HOST} ? 'standby' : 'cold'))%"
"""Worked out once, for the header DECISION_HEADER, where the counters read it."""
DECISION_HEADER = "x-cacheroute-decision"
PLAN_HEADER = "x-cacheroute-plan"
"""Only on answers that are explained, and of a plan: there is none at first."""
DESTINATION_HEADER = "x-cacheroute-destination"
"""Only on answers of a destination that may be told; from others the Lua script takes the decision away, and tells it apart."""
EXPLAINED_VERSION = "version"
"""Of a route's metadata: the plan's version where answers are explained, else missing."""
