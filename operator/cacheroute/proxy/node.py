"""What a proxy says of itself in its first request."""

from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from pydantic import ValidationError

from cacheroute.proxy.peer_text import one_line
from cacheroute.proxy.settings import GatewaySettings, first_problem

OLDEST = (1, 37)
"""Older Envoys acknowledge ``vhost_header`` and ignore it: every key would be cold in silence."""
OLDEST_WITH_BOUNDS = (1, 39)
"""Since then the stats access logger has ``stats_scope``; 1.40 deprecates ``stat_prefix`` for it."""
METADATA = "cacheroute"
"""Where the node's metadata have the proxy's settings."""
MAX_METADATA_BYTES = 2 * 1024 * 1024

_DEFAULTS = GatewaySettings()


@dataclass(frozen=True, slots=True)
class ProxyNode:
    """One Envoy.

    Attributes:
        name: node.id.
        gateway: node.cluster, the fleet that it belongs to.
        version: (major, minor) of Envoy; (0, 0) where it says none.
        settings: of its listener.
        problem: why its settings cannot be used; empty where they can.
    """

    name: str
    gateway: str
    version: tuple[int, int] = (0, 0)
    settings: GatewaySettings = _DEFAULTS
    problem: str = ""

    @property
    def unsupported(self) -> str:
        """Why it cannot be served; empty where it can."""
        if self.version < OLDEST:
            return "Envoy {}.{} ignores the route table's vhost_header: use {}.{} or newer.".format(
                *self.version, *OLDEST
            )
        if self.problem:
            return f"The settings in its node metadata cannot be used: {self.problem}."
        return ""

    @property
    def bounds_counters(self) -> bool:
        """Whether it can bound the number of counters and drop those that nobody uses."""
        return self.version >= OLDEST_WITH_BOUNDS


def read_node(node: Any) -> ProxyNode:
    """Read an envoy.config.core.v3.Node; whatever its metadata are, this raises nothing."""
    version = node.user_agent_build_version.version
    settings, problem = _settings(node.metadata)
    return ProxyNode(
        name=node.id,
        gateway=node.cluster,
        version=(version.major_number, version.minor_number),
        settings=settings,
        problem=problem,
    )


def _settings(metadata: Any) -> tuple[GatewaySettings, str]:
    """Return the settings and what is wrong with them. A proxy is not served by half of its settings."""
    if METADATA not in metadata.fields:
        return _DEFAULTS, ""
    said = metadata.fields[METADATA]
    if said.ByteSize() > MAX_METADATA_BYTES:
        return _DEFAULTS, f"{METADATA}: larger than {MAX_METADATA_BYTES} bytes"
    try:
        return GatewaySettings.model_validate(json_format.MessageToDict(said)), ""
    except ValidationError as error:
        return _DEFAULTS, one_line(f"{METADATA}.{first_problem(error)}")
    except (ValueError, RecursionError):  # NaN, infinite numbers, a value without a kind
        return _DEFAULTS, f"{METADATA}: is no JSON"
