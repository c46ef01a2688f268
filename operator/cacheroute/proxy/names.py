"""How resources, virtual hosts and endpoint sets are spelled; the Lua script spells them the same way.

The virtual host of a request is chosen by ``KEY_HEADER`` (RouteConfiguration.vhost_header): ``p/<plan>/<key>``.
"""

import re

from cacheroute.domain.keys import KEY_PUNCTUATION, canonical_model
from cacheroute.domain.plan import content_hash
from cacheroute.domain.spec import ANY_MODEL, PlanRef

KEY_HEADER = "x-cacheroute-key"
RESERVED_HEADERS = "x-cacheroute-"
"""Inbound headers that start so are removed before anything reads them."""
NAMESPACE = "cacheroute"
"""Of our metadata: on virtual hosts and routes, and of each request."""
ROUTES = "cacheroute"
"""Name of the one RouteConfiguration."""
LISTENER = "cacheroute"
ANYTHING = "*"
"""Domain of the virtual host that answers what no plan serves; a request starts there."""
NO_MODEL = "none"
"""Domain for requests that name no model, where no plan serves them."""
MAX_MODEL_BYTES = 256
"""A longer model name in a request is no model's name."""
COLD = "!"
"""Stands for the key where there is none that can be planned; outside the keys' alphabet."""

_PLAIN = rf"a-z0-9{re.escape(KEY_PUNCTUATION)}"
_ODD = re.compile(rf"[^{_PLAIN}]".encode())


def model_name(model: str) -> str:
    """Return how the Lua script spells a model's name; bytes outside the keys' alphabet are %-escaped."""
    if model == ANY_MODEL:
        return ANYTHING
    return _ODD.sub(lambda odd: b"%%%02x" % odd[0][0], canonical_model(model).encode()).decode("ascii")


def key_prefix(ref: PlanRef) -> str:
    """Return what stands before the key in the domains of a plan."""
    return f"p/{ref}/"


def cluster_name(ref: PlanRef) -> str:
    """Return the name of a plan's cluster, which is also the label ``envoy_cluster_name`` of its metrics."""
    return str(ref)


def set_name(seats: tuple[int, ...]) -> str:
    """Return the name of the set of endpoints that fill ``seats``."""
    if len(seats) == 1:
        return f"s{seats[0]}"
    return f"t{content_hash(seats)}"
