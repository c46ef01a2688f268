"""Envoy messages: packing, and the few that xds-protos does not have yet."""

from functools import cache
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, wrappers_pb2
from google.protobuf.message import Message

_TYPES = "type.googleapis.com/envoy.extensions."
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


def typed(name: str, message: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of an extension of Envoy, as JSON-like values."""
    return {"name": name, "typed_config": {"@type": _TYPES + message, **config}}


@cache
def register_missing() -> None:
    """Make the messages that xds-protos 1.85 lacks known to protobuf's default pool, with the fields we use.

    Sources: scope.proto and stats.proto of Envoy 1.40. The
    last one takes the place of an older one in xds-protos, which nothing here may import.
    """
    pool = descriptor_pool.Default()
    for file in (_scope(), _stats()):
        pool.Add(file)


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
    _add_message(config, "histograms", 3, f"{inside}.Histogram", repeated=True)
    _add_message(config, "counters", 4, f"{inside}.Counter", repeated=True)
    _add_message(config, "stats_scope", 6, "envoy.type.v3.Scope")
    tag, stat, counter, histogram = (config.nested_type.add(name=name) for name in _STATS_MESSAGES)
    _add_scalar(tag, "name", 1, _FIELD.TYPE_STRING)
    _add_scalar(tag, "value_format", 2, _FIELD.TYPE_STRING)
    _add_scalar(stat, "name", 1, _FIELD.TYPE_STRING)
    _add_message(stat, "tags", 2, f"{inside}.Tag", repeated=True)
    _add_message(counter, "stat", 1, f"{inside}.Stat")
    _add_scalar(counter, "value_format", 2, _FIELD.TYPE_STRING)
    _add_message(counter, "value_fixed", 3, wrappers_pb2.UInt64Value.DESCRIPTOR.full_name)
    _add_message(histogram, "stat", 1, f"{inside}.Stat")
    _add_units(histogram, f"{inside}.Histogram.Unit")
    _add_scalar(histogram, "value_format", 3, _FIELD.TYPE_STRING)
    return file


_STATS_MESSAGES = ("Tag", "Stat", "Counter", "Histogram")
_UNITS = ("Unspecified", "Bytes", "Microseconds", "Milliseconds", "Percent")


def _add_units(histogram: descriptor_pb2.DescriptorProto, name: str) -> None:
    unit = histogram.enum_type.add(name="Unit")
    for number, value in enumerate(_UNITS):
        unit.value.add(name=value, number=number)
    histogram.field.add(
        name="unit", number=2, type=_FIELD.TYPE_ENUM, type_name=f".{name}", label=_FIELD.LABEL_OPTIONAL
    )


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
