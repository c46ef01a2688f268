"""Messages of delta xDS as bytes: requests of unknown peers in, responses around serialised resources out."""

from typing import Any

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from cacheroute.proxy.peer_text import one_line
from cacheroute.proxy.subscription import Ask, Push

_VARINT_BASE = 128


def request(content: bytes) -> Any:
    """Read an envoy.service.discovery.v3.DeltaDiscoveryRequest; None where it is none."""
    try:
        return discovery_pb2.DeltaDiscoveryRequest.FromString(content)
    except DecodeError:
        return None


def ask(message: Any) -> Ask:
    """Return what a request asks."""
    return Ask(
        type_url=message.type_url,
        subscribe=tuple(message.resource_names_subscribe),
        unsubscribe=tuple(message.resource_names_unsubscribe),
        initial_versions=dict(message.initial_resource_versions),
        nonce=message.response_nonce,
        error=one_line(message.error_detail.message or "no reason given")
        if message.HasField("error_detail")
        else "",
    )


def response(push: Push) -> bytes:
    """Serialise a response around resources that already are serialised: joined messages are merged messages."""
    envelope = discovery_pb2.DeltaDiscoveryResponse(
        type_url=push.type_url, nonce=push.nonce, removed_resources=push.removed
    )
    parts = [envelope.SerializeToString()]
    for one in push.resources:
        parts += (_tag(len(one.frame)), one.frame)
    return b"".join(parts)


def _tag(length: int) -> bytes:
    field = discovery_pb2.DeltaDiscoveryResponse.RESOURCES_FIELD_NUMBER << 3 | 2
    return bytes((field,)) + _varint(length)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= _VARINT_BASE:
        out.append(value % _VARINT_BASE | _VARINT_BASE)
        value //= _VARINT_BASE
    return bytes((*out, value))
