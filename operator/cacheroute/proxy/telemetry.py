"""What the listener counts and how it is decided who served a request."""

from cacheroute.proxy.names import NAMESPACE

_ROUTE = f"xds.route_metadata.filter_metadata['{NAMESPACE}']"
ARM = f"%METADATA(ROUTE:{NAMESPACE}:arm)%"
"""plan or flat for a request of an admitted key, empty for others."""
_HOST = "xds.upstream_host_metadata.filter_metadata['envoy.lb'].set"
_DECISION = (
    f"{_ROUTE}['planned'] in {_HOST} ? 'planned' : ({_ROUTE}['standby'] in {_HOST} ? 'standby' : 'cold')"
)
DECISION = f"%CEL({_DECISION})%"
EXPLAINED_VERSION = "version"
"""Of a route's metadata: the plan's version where answers are explained, else missing."""
EXPLAINED_DECISION = f"%CEL('{EXPLAINED_VERSION}' in {_ROUTE} ? ({_DECISION}) : '')%"
"""The decision where answers are explained, else empty, and an empty header is not sent."""
