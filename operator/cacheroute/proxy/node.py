"""What a proxy says of itself in its first request."""

from dataclasses import dataclass
from typing import Any

OLDEST = (1, 37)
"""Older Envoys acknowledge ``vhost_header`` and ignore it: every key would be cold in silence."""
OLDEST_WITH_BOUNDS = (1, 39)
"""Since then the stats access logger has ``stats_scope``; 1.40 deprecates ``stat_prefix`` for it."""
DEFAULT_ADDRESS = "0.0.0.0"
DEFAULT_PORT = 10080
METADATA = "cacheroute"
"""Where the node's metadata say on which ``address`` and ``port`` it shall listen."""


@dataclass(frozen=True, slots=True)
class ProxyNode:
    """One Envoy.

    Attributes:
        name: node.id.
        gateway: node.cluster, the fleet that it belongs to.
        version: (major, minor) of Envoy; (0, 0) where it says none.
        address: where it shall listen.
        port: where it shall listen.
    """

    name: str
    gateway: str
    version: tuple[int, int] = (0, 0)
    address: str = DEFAULT_ADDRESS
    port: int = DEFAULT_PORT

    @property
    def unsupported(self) -> str:
        """Why it cannot be served; empty where it can."""
        if self.version >= OLDEST:
            return ""
        return "Envoy {}.{} ignores the route table's vhost_header: use {}.{} or newer.".format(
            *self.version, *OLDEST
        )

    @property
    def bounds_counters(self) -> bool:
        """Whether it can bound the number of counters and drop those that nobody uses."""
        return self.version >= OLDEST_WITH_BOUNDS


def read_node(node: Any) -> ProxyNode:
    """Read an envoy.config.core.v3.Node."""
    version = node.user_agent_build_version.version
    wishes = node.metadata.fields[METADATA].struct_value.fields if METADATA in node.metadata.fields else {}
    return ProxyNode(
        name=node.id,
        gateway=node.cluster,
        version=(version.major_number, version.minor_number),
        address=wishes["address"].string_value if "address" in wishes else DEFAULT_ADDRESS,
        port=int(wishes["port"].number_value) if "port" in wishes else DEFAULT_PORT,
    )
