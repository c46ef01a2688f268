"""How results are printed: a table for people, JSON or YAML for programs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer


class Output(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Format = Annotated[Output, typer.Option("--output", "-o", help="How the result is printed.")]


def write(document: object, output: Output) -> None:
    """Write plain JSON types to standard output, as JSON or YAML."""
    if output is Output.YAML:
        import yaml

        dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        yaml.dump(document, sys.stdout, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)
        return
    import orjson

    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")


def note(message: str) -> None:
    """Tell something beside the result, in one line on standard error."""
    sys.stderr.write(f"cacheroute: {' '.join(message.split())}\n")


@contextmanager
def progress(message: str) -> Iterator[None]:
    """Show what takes time while it does; only a terminal sees it."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(message):
        yield
