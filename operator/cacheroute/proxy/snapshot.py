"""What one gateway's proxies are served: resources with versions that are their content."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import any_pb2
from google.protobuf.message import Message

_TYPES = "type.googleapis.com/"
_TYPE = _TYPES + "envoy.config."
CLUSTERS = _TYPE + "cluster.v3.Cluster"
ENDPOINTS = _TYPE + "endpoint.v3.ClusterLoadAssignment"
LISTENERS = _TYPE + "listener.v3.Listener"
ROUTES = _TYPE + "route.v3.RouteConfiguration"

ALL_NAMES = "*"
"""In ``Snapshot.withheld``: all resources of the type."""
_VERSION_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource, serialised once and shared between all streams.

    Attributes:
        name: as Envoy subscribes to it.
        version: content hash, hexadecimal.
        frame: serialised envoy.service.discovery.v3.Resource.
    """

    name: str
    version: str
    frame: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All resources of a gateway, by type URL and name.

    Attributes:
        version: content hash over all resources.
        resources: type URL → name → resource; the listener is added for each proxy.
        withheld: (type URL, name or ``*``) of what is not here and yet may be in a proxy: it keeps what it has,
            and who has none waits for an answer.
    """

    version: str
    resources: Mapping[str, Mapping[str, Resource]]
    withheld: frozenset[tuple[str, str]] = frozenset()

    def of(self, type_url: str) -> Mapping[str, Resource]:
        """Return the resources of one type by name."""
        return self.resources.get(type_url, _NOTHING)

    def withholds(self, type_url: str, name: str) -> bool:
        """Whether a proxy that has this resource shall keep it although it is not here."""
        return bool({(type_url, name), (type_url, ALL_NAMES)} & self.withheld)

    def withholds_some(self, type_url: str) -> bool:
        """Whether any resource of the type is withheld."""
        return any(kind == type_url for kind, _ in self.withheld)


_NOTHING: Mapping[str, Resource] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Part:
    """Some fields of a message, serialised: parts that are joined are the whole message, as protobuf merges them.

    Attributes:
        content: with deterministic bytes.
        digest: SHA-256 of the content.
    """

    content: bytes
    digest: bytes


def part(message: Message) -> Part:
    """Serialise some fields of a message."""
    content = message.SerializeToString(deterministic=True)
    return Part(content, hashlib.sha256(content).digest())


def resource(name: str, message: Message) -> Resource:
    """Serialise a resource; equal messages give equal bytes and versions."""
    return joined(name, message.DESCRIPTOR.full_name, (part(message),))


def joined(name: str, message: str, parts: Sequence[Part]) -> Resource:
    """Put a resource together; the version follows from the parts' digests, so that no content is hashed again.

    Args:
        name: of the resource.
        message: full name of its message's type.
        parts: of the message, in an order that does not change.
    """
    version = hashlib.sha256(b"".join(one.digest for one in parts)).hexdigest()[:_VERSION_LENGTH]
    content = any_pb2.Any(type_url=f"{_TYPES}{message}", value=b"".join(one.content for one in parts))
    frame = discovery_pb2.Resource(name=name, version=version, resource=content)
    return Resource(name, version, frame.SerializeToString(deterministic=True))


def snapshot(resources: Mapping[str, Iterable[Resource]]) -> Snapshot:
    """Put resources together; the version does not depend on their order."""
    by_type = {kind: {one.name: one for one in some} for kind, some in resources.items()}
    versions = sorted(
        f"{kind} {name} {one.version}" for kind, some in by_type.items() for name, one in some.items()
    )
    digest = hashlib.sha256("\n".join(versions).encode()).hexdigest()
    return Snapshot(digest[:_VERSION_LENGTH], by_type)
