"""Many simulations over processes, each one only once."""

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from cacheroute.simulation.experiments.backends import Backend, backend
from cacheroute.simulation.experiments.cell import Cell, run_cell
from cacheroute.simulation.experiments.store import Ran, Store

Tell = Callable[[int, int], None]
"""Called with the number of simulations that are done and of all."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Who runs a series.

    Attributes:
        jobs: processes; -1 for one on each core.
        backend: where they run.
        cluster: address of a Dask or Ray cluster, None for one on this machine.
        store: folder of outcomes that need not be computed again, None to keep none.
    """

    jobs: int = -1
    backend: Backend = Backend.LOKY
    cluster: str | None = None
    store: Path | None = None


def sweep(cells: Sequence[Cell], workers: Workers, tell: Tell = lambda _done, _all: None) -> list[Ran]:
    """Return what each cell gives, in their order.

    The outcomes are the same to the bit whatever the workers. What is done is kept at once, so an interrupted series
    goes on where it stopped.

    Raises:
        SimulationError: a setting is out of range, or the cluster cannot be used.
    """
    store = Store(workers.store) if workers.store is not None else None
    known: dict[int, Ran] = {}
    for index, cell in enumerate(cells):
        if store is not None and (found := store.get(cell)) is not None:
            known[index] = found
    missing = [index for index in range(len(cells)) if index not in known]
    tell(len(known), len(cells))
    with contextlib.closing(_run(cells, missing, workers)) as results:
        for index, ran in results:
            known[index] = ran
            if store is not None:
                store.put(cells[index], ran)
            tell(len(known), len(cells))
    return [known[index] for index in range(len(cells))]


def _run(
    cells: Sequence[Cell], chosen: Sequence[int], workers: Workers
) -> Generator[tuple[int, Ran], None, None]:
    """Yield what is done as it gets done; in this process where one job is asked for or one is left."""
    if not chosen:
        return
    if workers.backend is Backend.LOKY and (workers.jobs == 1 or len(chosen) == 1):
        yield from (_numbered(index, cells[index]) for index in chosen)
        return
    with backend(workers.backend, workers.jobs, workers.cluster):
        parallel: Any = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        yield from parallel(joblib.delayed(_numbered)(index, cells[index]) for index in chosen)


def _numbered(index: int, cell: Cell) -> tuple[int, Ran]:
    begin = time.process_time()
    outcome = run_cell(cell)
    return index, Ran(outcome, time.process_time() - begin)
