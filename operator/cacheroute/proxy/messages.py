"""Envoy messages: packing, and the few that xds-protos does not have yet."""

from envoy.config.core.v3 import extension_pb2
from envoy.extensions.filters.http.json_to_metadata.v3 import json_to_metadata_pb2
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, wrappers_pb2
from google.protobuf.message import Message

_FIELD = descriptor_pb2.FieldDescriptorProto


def packed(message: Message) -> any_pb2.Any:
    """Return ``message`` as an Any with deterministic bytes, so that equal content has equal versions."""
    return any_pb2.Any(
        type_url=f"type.googleapis.com/{message.DESCRIPTOR.full_name}",
        value=message.SerializeToString(deterministic=True),
    )


def milliseconds(count: int) -> duration_pb2.Duration:
    """Return a duration."""
    return duration_pb2.Duration(seconds=count // 1000, nanos=count % 1000 * 1_000_000)


def seconds(count: int) -> duration_pb2.Duration:
    """Return a duration."""
    return duration_pb2.Duration(seconds=count)


def uint32(value: int) -> wrappers_pb2.UInt32Value:
    """Return a number that can be absent."""
    return wrappers_pb2.UInt32Value(value=value)


def register_missing() -> None:
    """Make the messages that xds-protos 1.85 lacks known to protobuf's default pool, with the fields we use.

    Sources: envoy/extensions/filters/http/sse_to_metadata/v3/sse_to_metadata.proto and
    envoy/extensions/content_parsers/json/v3/json_content_parser.proto of Envoy 1.40.
    """
    pool = descriptor_pool.Default()
    for file in (_json_content_parser(), _sse_to_metadata()):
        pool.Add(file)


def _json_content_parser() -> descriptor_pb2.FileDescriptorProto:
    file = _file("content_parsers.json", json_to_metadata_pb2.DESCRIPTOR.name)
    parser = file.message_type.add(name="JsonContentParser")
    rule_type = f"{file.package}.JsonContentParser.RuleConfig"
    _add_field(parser, "rules", rule_type, repeated=True)
    rule = parser.nested_type.add(name="RuleConfig")
    _add_field(rule, "rule", json_to_metadata_pb2.JsonToMetadata.Rule.DESCRIPTOR.full_name)
    return file


def _sse_to_metadata() -> descriptor_pb2.FileDescriptorProto:
    file = _file("filters.http.sse_to_metadata", extension_pb2.DESCRIPTOR.name)
    sse = file.message_type.add(name="SseToMetadata")
    _add_field(sse, "response_rules", f"{file.package}.SseToMetadata.ProcessingRules")
    rules = sse.nested_type.add(name="ProcessingRules")
    _add_field(rules, "content_parser", extension_pb2.TypedExtensionConfig.DESCRIPTOR.full_name)
    return file


def _file(extension: str, dependency: str) -> descriptor_pb2.FileDescriptorProto:
    package = f"envoy.extensions.{extension}.v3"
    return descriptor_pb2.FileDescriptorProto(
        name=f"cacheroute/{package}.proto", package=package, syntax="proto3", dependency=[dependency]
    )


def _add_field(
    message: descriptor_pb2.DescriptorProto, name: str, type_name: str, *, repeated: bool = False
) -> None:
    message.field.add(
        name=name,
        number=1,
        type=_FIELD.TYPE_MESSAGE,
        type_name=f".{type_name}",
        label=_FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL,
    )
