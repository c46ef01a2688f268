"""Figures with their targets: a table, and build/bench/gateway-<row>.json."""

import json
import os
import statistics
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.gateway.programs import versions
from benchmarks.runner import PLAIN_WIDTH, machine


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        what: is measured.
        value: median of ``runs``.
        unit: of the value.
        target: the most it may be, or the least; None where it is only told.
        runs: every repetition.
        note: beside it in the table.
        least: the target is the least that it may be.
    """

    what: str
    value: float
    unit: str
    target: float | None = None
    runs: tuple[float, ...] = ()
    note: str = ""
    least: bool = False

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        if self.target is None:
            return ""
        met = self.value >= self.target if self.least else self.value <= self.target
        return "met" if met else "MISSED"

    @property
    def wanted(self) -> str:
        """The target as a table shows it."""
        return "" if self.target is None else f"{'≥' if self.least else '≤'} {self.target:,g}"


def median(
    what: str, runs: list[float], unit: str, target: float | None = None, note: str = "", *, digits: int = 3
) -> Figure:
    """Return the figure of several repetitions."""
    rounded = tuple(round(one, digits) for one in runs)
    return Figure(what, round(statistics.median(runs), digits), unit, target, rounded, note)


def worst(what: str, runs: list[float], unit: str, target: float | None = None, note: str = "") -> Figure:
    """Return the figure of what must hold in every repetition."""
    return Figure(what, round(max(runs), 3), unit, target, tuple(round(one, 3) for one in runs), note)


def at_least(what: str, runs: list[float], unit: str, target: float) -> Figure:
    """Return the figure of what must reach a target in the median."""
    return replace(median(what, runs, unit, target, digits=0), least=True)


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one row."""

    name: str
    title: str
    figures: list[Figure]
    more: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the JSON object."""
        figures = [asdict(one) | {"wanted": one.wanted, "verdict": one.verdict} for one in self.figures]
        place = {**machine(), **versions(), "load_average": round(os.getloadavg()[0], 1)}
        return {
            "name": f"gateway-{self.name}",
            "title": self.title,
            "figures": figures,
            "machine": place,
            **self.more,
        }


def write(row: Row, folder: Path) -> Path:
    """Write one row, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"gateway-{row.name}.json"
    temporary = folder / f".{path.name}.{os.getpid()}.tmp"
    temporary.write_text(json.dumps(row.document(), indent=2) + "\n", encoding="utf-8")
    return temporary.replace(path)


def show(row: Row) -> None:
    """Print the table of a row."""
    table = Table("figure", "measured", "target", "verdict", "runs", "note", title=row.title)
    for one in row.figures:
        table.add_row(
            one.what,
            f"{one.value:,g} {one.unit}",
            one.wanted,
            one.verdict,
            " ".join(f"{run:g}" for run in one.runs),
            one.note,
        )
    Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH).print(table)
