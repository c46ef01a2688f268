"""Outcomes on disk, so that a series that was interrupted goes on where it stopped."""

import contextlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from cacheroute.simulation.experiments.cell import Cell, Outcome
from cacheroute.simulation.experiments.digest import code_version, digest
from cacheroute.simulation.fleet.figures import FleetFigures


class Ran(NamedTuple):
    """A simulation that was run, now or earlier."""

    outcome: Outcome
    seconds: float
    """Time of the processor that it took; the only part that is not the same every time."""


class Store:
    """One file for each cell, named by the content of its settings and the version of the code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, cell: Cell) -> Ran | None:
        """Return the outcome, None where it is not there or cannot be read."""
        try:
            row = json.loads(self._path(cell).read_text("utf-8"))
            figures = FleetFigures(**row["figures"])
            outcome = Outcome(figures, tuple(row["hits"]), tuple(row["tails"]))
            return Ran(outcome, float(row["seconds"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, cell: Cell, ran: Ran) -> None:
        """Keep an outcome: it is there completely or not at all."""
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({**asdict(ran.outcome), "seconds": ran.seconds}, file)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise

    def _path(self, cell: Cell) -> Path:
        name = digest((code_version(), cell))
        return self._folder / name[:2] / f"{name}.json"
