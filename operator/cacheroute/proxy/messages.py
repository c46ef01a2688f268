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

    Sources: sse_to_metadata.proto, json_content_parser.proto, scope.proto and stats.proto of Envoy 1.40. The
    last one takes the place of an older one in xds-protos, which nothing here may import.
    """
    pool = descriptor_pool.Default()
    for file in (_json_content_parser(), _sse_to_metadata(), _scope(), _stats()):
        pool.Add(file)


def _json_content_parser() -> descriptor_pb2.FileDescriptorProto:
    file = _file("envoy.extensions.content_parsers.json.v3", json_to_metadata_pb2.DESCRIPTOR.name)
    parser = file.message_type.add(name="JsonContentParser")
    _add_message(parser, "rules", 1, f"{file.package}.JsonContentParser.RuleConfig", repeated=True)
    rule = parser.nested_type.add(name="RuleConfig")
    _add_message(rule, "rule", 1, json_to_metadata_pb2.JsonToMetadata.Rule.DESCRIPTOR.full_name)
    return file


def _sse_to_metadata() -> descriptor_pb2.FileDescriptorProto:
    file = _file("envoy.extensions.filters.http.sse_to_metadata.v3", extension_pb2.DESCRIPTOR.name)
    sse = file.message_type.add(name="SseToMetadata")
    _add_message(sse, "response_rules", 1, f"{file.package}.SseToMetadata.ProcessingRules")
    rules = sse.nested_type.add(name="ProcessingRules")
    _add_message(rules, "content_parser", 1, extension_pb2.TypedExtensionConfig.DESCRIPTOR.full_name)
    return file


def _scope() -> descriptor_pb2.FileDescriptorProto:
    file = _file("envoy.type.v3", wrappers_pb2.DESCRIPTOR.name)
    scope = file.message_type.add(name="Scope")
    _add_message(scope, "max_counters", 1, wrappers_pb2.UInt32Value.DESCRIPTOR.full_name)
    _add_scalar(scope, "enable_eviction", 4, _FIELD.TYPE_BOOL)
    _add_scalar(scope, "prefix", 5, _FIELD.TYPE_STRING)
    _add_scalar(scope, "sharing_name", 6, _FIELD.TYPE_STRING)
    return file


def _stats() -> descriptor_pb2.FileDescriptorProto:
    file = _file("envoy.extensions.access_loggers.stats.v3", wrappers_pb2.DESCRIPTOR.name, _scope().name)
    config = file.message_type.add(name="Config")
    inside = f"{file.package}.Config"
    _add_scalar(config, "stat_prefix", 1, _FIELD.TYPE_STRING)
    _add_message(config, "counters", 4, f"{inside}.Counter", repeated=True)
    _add_message(config, "stats_scope", 6, "envoy.type.v3.Scope")
    tag, stat, counter = (config.nested_type.add(name=name) for name in ("Tag", "Stat", "Counter"))
    _add_scalar(tag, "name", 1, _FIELD.TYPE_STRING)
    _add_scalar(tag, "value_format", 2, _FIELD.TYPE_STRING)
    _add_scalar(stat, "name", 1, _FIELD.TYPE_STRING)
    _add_message(stat, "tags", 2, f"{inside}.Tag", repeated=True)
    _add_message(counter, "stat", 1, f"{inside}.Stat")
    _add_scalar(counter, "value_format", 2, _FIELD.TYPE_STRING)
    _add_message(counter, "value_fixed", 3, wrappers_pb2.UInt64Value.DESCRIPTOR.full_name)
    return file


def _file(package: str, *dependencies: str) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto(
        name=f"cacheroute/{package}.proto", package=package, syntax="proto3", dependency=dependencies
    )


def _add_scalar(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    number: int,
    kind: "descriptor_pb2.FieldDescriptorProto.Type.ValueType",
) -> None:
    message.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)


def _add_message(
    message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: str, *, repeated: bool = False
) -> None:
    label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    message.field.add(name=name, number=number, type=_FIELD.TYPE_MESSAGE, type_name=f".{kind}", label=label)
