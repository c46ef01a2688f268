"""What the listener counts and how it is decided who served a request."""

from cacheroute.proxy.names import NAMESPACE

_ROUTE = f"xds.route_metadata.filter_metadata['{NAMESPACE}']"
ARM = f"%METADATA(ROUTE:{NAMESPACE}:arm)%"
"""plan or flat for a request of an admitted key, empty for others."""
_HOST = "xds.upstream_host_metadata.filter_metadata['envoy.lb'].set"
DECISION = f"%CEL({_ROUTE}['planned'] in {_HOST} ? 'planned' : ({_ROUTE}['standby'] in {_HOST} ? 'standby' : 'cold'))%"
"""Worked out once, for the header DECISION_HEADER; the Lua script hands it on to the counters."""
DECISION_HEADER = "x-cacheroute-decision"
EXPLAINED_VERSION = "version"
"""Of a route's metadata: the plan's version where answers are explained, else missing."""
