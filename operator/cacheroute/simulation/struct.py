"""Named tuples of arrays as one pointer for compiled code.

A tuple is passed to a compiled function array by array, which makes calls slow and their compilation very slow. A struct
is passed whole. Its arrays are those of the tuple: what compiled code changes, the tuple's owner sees.
"""

import sys
from typing import Any, TypeVar, cast

from numba.core import types as numba_types
from numba.experimental import structref

_Class = TypeVar("_Class", bound=type)
_Value = TypeVar("_Value")
_proxies: dict[type, Any] = {}
_types: Any = numba_types


def struct(kind: _Class) -> _Class:
    """Let tuples of this class be passed as structs; a decorator of classes of named tuples.

    numba's type of the struct is put beside the class, because what is compiled is found on disk by importable types.
    """
    module, name = sys.modules[kind.__module__], f"{kind.__name__}Type"
    body = {"preprocess_fields": _without_literals, "__module__": kind.__module__}
    struct_type = structref.register(type(name, (_types.StructRef,), body))
    setattr(module, name, struct_type)
    proxy: Any = type(kind.__name__, (structref.StructRefProxy,), {})
    structref.define_proxy(proxy, struct_type, list(kind._fields))  # type: ignore[attr-defined]
    _proxies[kind] = proxy
    return kind


def pointer(value: _Value) -> _Value:
    """Return a named tuple, and those inside it, as structs: with its fields in compiled code, without any in Python."""
    if type(value) not in _proxies:
        return value
    fields = cast("tuple[object, ...]", value)
    return cast("_Value", _proxies[type(value)](*(pointer(field) for field in fields)))


def _without_literals(_self: object, fields: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, _types.unliteral(kind)) for name, kind in fields)
