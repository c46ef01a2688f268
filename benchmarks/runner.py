"""Runs benchmarks, prints a table and writes build/bench/<name>.json."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

RUNS = 7
OUTPUT = Path("build/bench")


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's outcome.

    Attributes:
        name: also the file's name.
        value: median of ``runs``.
        unit: of ``value`` and ``baseline``.
        baseline: median of something comparable, measured in the same run.
        baseline_name: what that is.
        ratio: value / baseline.
        runs: every counted run.
        machine: where it was measured.
        notes: figures from elsewhere, with their source.
    """

    name: str
    value: float
    unit: str
    baseline: float
    baseline_name: str
    ratio: float
    runs: list[float]
    machine: dict[str, Any]
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Something to measure, and what to measure beside it."""

    name: str
    subject: Callable[[], object]
    baseline: Callable[[], object]
    baseline_name: str
    notes: dict[str, Any] = field(default_factory=dict)


def measure(benchmark: Benchmark) -> Result:
    """Time subject and baseline in turn, after one warm-up each; milliseconds of process CPU time."""
    pairs = [(_milliseconds(benchmark.subject), _milliseconds(benchmark.baseline)) for _ in range(RUNS + 1)][
        1:
    ]
    runs = [pair[0] for pair in pairs]
    value, baseline = statistics.median(runs), statistics.median(pair[1] for pair in pairs)
    return Result(
        name=benchmark.name,
        value=round(value, 3),
        unit="ms",
        baseline=round(baseline, 3),
        baseline_name=benchmark.baseline_name,
        ratio=round(value / baseline, 3) if baseline else 0.0,
        runs=[round(run, 3) for run in runs],
        machine=machine(),
        notes=benchmark.notes,
    )


def _milliseconds(subject: Callable[[], object]) -> float:
    started = time.process_time()
    subject()
    return 1000 * (time.process_time() - started)


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


def write(result: Result) -> Path:
    """Write one result, whole or not at all."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / f"{result.name}.json"
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
    return temporary.replace(path)


def show(results: list[Result]) -> None:
    """Print the table."""
    table = Table("benchmark", "median", "baseline", "ratio", "notes", title=f"median of {RUNS}, one process")
    for one in results:
        notes = "; ".join(f"{name}: {value}" for name, value in one.notes.items())
        table.add_row(
            one.name,
            f"{one.value:.1f} {one.unit}",
            f"{one.baseline:.1f} {one.unit} ({one.baseline_name})",
            f"{one.ratio:.2f}",
            notes,
        )
    Console(width=140).print(table)
