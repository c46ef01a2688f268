"""``cacheroute trace``: describe and convert traces of requests."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cacheroute.cli.errors import FAILURE, USAGE, fail
from cacheroute.cli.output import note
from cacheroute.simulation.traces.readers.options import FIELDS, ReadOptions, TraceFormat

if TYPE_CHECKING:
    from cacheroute.simulation.traces.readers.open import Reading

app = typer.Typer(no_args_is_help=True, help="Describe and convert traces and access logs of LLM requests.")


class Shape(StrEnum):
    """How a description is printed."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Parquet, CSV or JSON lines; text may be gzipped. As large as it likes."
    ),
]
Form = Annotated[
    TraceFormat | None,
    typer.Option("--format", case_sensitive=False, help="Of FILE; default: by its name and columns."),
]
Field = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FIELD[:UNIT]",
        help=f"Access logs: where a line has NAME, of {', '.join(FIELDS)}. Dots lead into objects, UNIT is s, ms, us or "
        "ns. May be repeated; default: usual names.",
    ),
]
Gap = Annotated[
    float,
    typer.Option(
        min=0.001, max=1e6, help="Mean seconds between sessions where a trace has no clock across them."
    ),
]


@app.command()
def describe(
    file: File,
    form: Form = None,
    field: Field = None,
    session_gap: Gap = 10.0,
    output: Annotated[Shape, typer.Option("--output", "-o", help="How the result is printed.")] = Shape.TABLE,
    save: Annotated[
        Path | None, typer.Option(help="Write the result to this file instead of standard output.")
    ] = None,
) -> None:
    """Say what a trace is like: volumes, lengths, burstiness, skew, users and models, prefix reuse.

    FILE is read once, in bounded memory. Formats: **access-log** (OpenAI-style, one JSON object a line), **envoy**
    (JSON access log), **mooncake** (JSON lines), **azure** (CSV), and Parquet: **runs** (prompts as runs of blocks),
    **year** (the trace of A Year in LLM Serving), **tenants**, **cacheroute** (written by `cacheroute trace convert`).

    Example: `cacheroute trace describe access.jsonl --field key=metadata.team -o html --save report.html`

    Exit code: 0; 1 where the extra `simulation` is not installed; 2 where an option or FILE cannot be used.
    """
    with complaints(), _reading(file, form, field, session_gap) as reading:
        from cacheroute.simulation.describe.describe import describe as described

        text = _text(described(reading), output)
        if save is None:
            sys.stdout.write(text)
        else:
            _write(text, save)
    if save is not None:
        note(f"the description is in {save}")


@app.command()
def convert(
    file: File,
    to: Annotated[
        Path, typer.Argument(metavar="OUT.parquet", help="File to write; one that exists is replaced.")
    ],
    form: Form = None,
    field: Field = None,
    session_gap: Gap = 10.0,
) -> None:
    """Write a trace of any format as compact Parquet: sorted by time, with sessions, a tenth of a log's size.

    The file is there whole or not at all. docs/traces.md lists its columns.

    Exit code: 0; 1 where the extra `simulation` is not installed; 2 where an option or a file cannot be used.
    """
    if to.suffix not in (".parquet", ".pq"):
        fail(f"{to}: the name must end in .parquet: a trace is recognised by it", USAGE)
    with complaints(), _reading(file, form, field, session_gap) as reading:
        from cacheroute.simulation.traces.read import write_trace

        write_trace(reading, to)
    note(
        f"the trace is in {to}"
        + (
            f"; {reading.words.left_out:,} rows without prompt tokens were left out"
            if reading.words.left_out
            else ""
        )
    )


@contextmanager
def complaints() -> Iterator[None]:
    """Turn what is wrong with a trace, or a missing package, into one line."""
    try:
        from cacheroute.simulation.errors import SimulationError

        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("cacheroute"):
            raise
        fail(
            f"this needs the extra 'simulation' ({error.name} is missing): pip install 'cacheroute[simulation]'",
            FAILURE,
        )
    except SimulationError as error:
        fail(str(error), USAGE)


@contextmanager
def _reading(file: str, form: TraceFormat | None, field: list[str] | None, gap: float) -> "Iterator[Reading]":
    from cacheroute.simulation.traces.readers.open import open_trace

    with reading_progress(f"reading {file}") as told:
        yield open_trace(file, ReadOptions(form, fields_of(field or []), gap, told))


def fields_of(given: list[str]) -> dict[str, str]:
    """Return what --field says; ends with a usage error where it says nothing."""
    for text in given:
        if "=" not in text:
            fail(f"--field {text!r}: use NAME=FIELD, such as key=metadata.team", USAGE)
    return dict(text.split("=", 1) for text in given)


@contextmanager
def reading_progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show how much was read; only a terminal sees it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(escape(what), total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _text(document: dict[str, Any], output: Shape) -> str:
    if output is Shape.JSON:
        import orjson

        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"
    from cacheroute.simulation.describe.sections import sections

    if output is Shape.HTML:
        from cacheroute.simulation.describe.report import report

        return report(document, sections(document))
    from cacheroute.cli.tables import facts, text

    return text(*(facts(*rows, title=f"\n{title}") for title, rows in sections(document)))


def _write(text: str, path: Path) -> None:
    """Write a file, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    except OSError as error:
        fail(f"{path}: cannot be written: {error.strerror or error}", USAGE)
    finally:
        temporary.unlink(missing_ok=True)
