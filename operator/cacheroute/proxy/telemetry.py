"""What the listener counts and how it is decided who served a request."""

from cacheroute.proxy.names import NAMESPACE

_ROUTE = f"xds.route_metadata.filter_metadata['{NAMESPACE}']"
_HOST = "xds.upstream_host_metadata.filter_metadata['envoy.lb'].set"
DECISION = f"%CEL({_ROUTE}['planned'] in {_HOST} ? 'planned' : ({_ROUTE}['standby'] in {_HOST} ? 'standby' : 'cold'))%"
