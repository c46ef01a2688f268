"""Reads the values of a Helm chart with what their comments say: lines `# -- text` above a value describe it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

_MARK = "# -- "


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a chart.

    Attributes:
        path: dotted.
        default: as JSON.
        text: what it means, empty where its name says it.
    """

    path: str
    default: str
    text: str


def described(source: str) -> list[Value]:
    """Return the values of a values.yaml: its leaves, and what has a description of its own as a whole."""
    return list(_values(yaml.compose(source), source.splitlines(), ()))


def _values(node: yaml.Node | None, lines: list[str], path: tuple[str, ...]) -> Iterator[Value]:
    if not isinstance(node, yaml.MappingNode):
        raise TypeError(f"{'.'.join(path) or 'values.yaml'} must be a mapping")
    for name, value in node.value:
        above = lines[name.start_mark.line - 1].strip()
        text = above.removeprefix(_MARK) if above.startswith(_MARK) else ""
        inner = (*path, str(name.value))
        if _is_group(value):
            yield from _group(inner, text)
            yield from _values(value, lines, inner)
        else:
            yield Value(".".join(inner), json.dumps(yaml.safe_load(yaml.serialize(value))), text)


def _group(path: tuple[str, ...], text: str) -> Iterator[Value]:
    if text:
        yield Value(".".join(path), "…", text)


def _is_group(node: yaml.Node) -> bool:
    return isinstance(node, yaml.MappingNode) and not node.flow_style
