"""Times functions, prints a table and writes build/bench/<name>.json."""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

RUNS = 7
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "bench"
PLAIN_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's outcome.

    Attributes:
        name: also the file's name.
        value: median of ``runs``.
        unit: of ``value``, ``baseline`` and ``runs``.
        baseline: median of something comparable, measured in the same run.
        baseline_name: what that is.
        ratio: value / baseline.
        runs: every counted run, in order.
        machine: where it was measured, and with which versions.
        more: further fields of the JSON object, which the table shows as notes unless they are objects.
    """

    name: str
    value: float
    unit: str
    baseline: float
    baseline_name: str
    ratio: float
    runs: list[float]
    machine: dict[str, Any]
    more: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the JSON object."""
        fields = asdict(self)
        more: dict[str, Any] = fields.pop("more")
        return fields | more


@dataclass(frozen=True, slots=True)
class Span:
    """How long something took, in milliseconds: by the clock on the wall, and of processor time on all cores."""

    wall: float
    processor: float


def compare(
    name: str,
    subject: Callable[[], object],
    baseline: tuple[str, Callable[[], object]],
    more: dict[str, Any],
) -> Result:
    """Time ``subject`` and the named baseline in turn on one core, RUNS times after one warm-up each."""
    pin()
    spans = [(span(subject), span(baseline[1])) for _ in range(RUNS + 1)][1:]
    value = statistics.median(one.wall for one, _ in spans)
    other = statistics.median(one.wall for _, one in spans)
    processor = statistics.median(one.processor for one, _ in spans)
    return Result(
        name=name,
        value=round(value, 3),
        unit="ms",
        baseline=round(other, 3),
        baseline_name=baseline[0],
        ratio=round(value / other, 4),
        runs=[round(one.wall, 3) for one, _ in spans],
        machine=machine(),
        more={"processor_ms": round(processor, 3), **more},
    )


def span(subject: Callable[[], object]) -> Span:
    """Call once and time it."""
    wall, processor = time.perf_counter(), time.process_time()
    subject()
    return Span(1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor))


def pin() -> None:
    """Keep this process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def machine() -> dict[str, Any]:
    """Describe where a measurement was made."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def write(result: Result, folder: Path = OUTPUT) -> Path:
    """Write one result, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    temporary = folder / f".{result.name}.{os.getpid()}.tmp"
    temporary.write_text(json.dumps(result.document(), indent=2) + "\n", encoding="utf-8")
    return temporary.replace(path)


def show(results: list[Result]) -> None:
    """Print the table."""
    table = Table(
        "benchmark", "median", "baseline", "ratio", "more", title=f"times are medians of {RUNS} runs"
    )
    for one in results:
        table.add_row(
            one.name,
            f"{one.value:.1f} {one.unit}",
            f"{one.baseline:.1f} {one.unit} ({one.baseline_name})",
            f"{one.ratio:.3f}",
            "\n".join(f"{name}: {value}" for name, value in one.more.items() if not isinstance(value, dict)),
        )
    Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH).print(table)
