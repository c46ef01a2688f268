"""Options that the simulating commands share, and what they need from them."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.output import note
from cacheroute.cli.trace import reading_progress
from cacheroute.simulation.traces.readers.options import ReadOptions, TraceFormat

if TYPE_CHECKING:
    from cacheroute.simulation.experiments.sweep import Workers
    from cacheroute.simulation.traces.trace import Trace

Engine = Annotated[
    str,
    typer.Option(
        help="Model on its GPUs: 8b-bf16 (one H100), 70b-fp8 or 70b-fp16 (two H100 each destination)."
    ),
]
Destinations = Annotated[int, typer.Option(min=1, max=512, help="Model servers of the fleet.")]
Objective = Annotated[
    float, typer.Option(min=0.001, max=600, help="Limit on the p99 of the time to the first token, seconds.")
]
Jobs = Annotated[int, typer.Option(min=-1, max=1024, help="Processes; -1 is one on each core.")]
BackendName = Annotated[
    str, typer.Option("--backend", help="Where simulations run: loky (this machine), dask or ray.")
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Address of a Dask or Ray cluster; default: one that is started on this machine."),
]
KvTokens = Annotated[
    int | None,
    typer.Option(min=16, max=1_000_000_000, help="KV cache of a destination, tokens; default: the model's."),
]


def workers(jobs: int, backend: str, cluster: str | None) -> "Workers":
    """Return who runs the simulations; ends with a usage error where that is nobody."""
    from cacheroute.simulation.experiments.backends import Backend
    from cacheroute.simulation.experiments.sweep import Workers

    if backend not in set(Backend):
        fail(f"--backend {backend}: it is one of {', '.join(Backend)}", USAGE)
    if cluster is not None and backend == Backend.LOKY:
        fail("--cluster is the address of a Dask or Ray cluster; give --backend dask or ray as well", USAGE)
    return Workers(jobs or 1, Backend(backend), cluster)


def read(path: str, form: TraceFormat | None, fields: dict[str, str], limit: int) -> "Trace":
    """Return the first requests of a trace."""
    import numpy as np

    from cacheroute.simulation.traces.read import read_trace

    with reading_progress(f"reading {path}") as told:
        trace = read_trace(path, ReadOptions(form, fields, told=told))
    if trace.size > limit:
        note(f"{path}: the first {limit:,} of {trace.size:,} requests are taken; --limit takes more")
        trace = trace.take(np.arange(trace.size) < limit)
    return trace


def write_whole(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    import os
    import tempfile

    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        fail(f"{path}: cannot be written: {error.strerror}", USAGE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def finite(value: Any) -> Any:
    """Return JSON types in which numbers that JSON does not have are null."""
    import math

    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
