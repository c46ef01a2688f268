"""All studies of the report, and a small version of each."""

from collections.abc import Sequence
from dataclasses import replace

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.cell import Cell, with_load
from cacheroute.simulation.experiments.traffic import Traffic
from cacheroute.simulation.paper.calibration import calibration
from cacheroute.simulation.paper.drift_study import DriftStudy, table_12
from cacheroute.simulation.paper.ladder_study import LadderStudy
from cacheroute.simulation.paper.operations import OperationsStudy, contests, situations
from cacheroute.simulation.paper.study import Study
from cacheroute.simulation.paper.tables import table_1, table_3, table_4, table_9, table_10
from cacheroute.simulation.paper.variants import VariantStudy, miscalibration, table_13, table_14
from cacheroute.simulation.workloads.arrivals import Arrivals

TABLE_3_KEYS = (16, 32, 64, 128, 256, 2000)


def studies(*, quick: bool = False, only: Sequence[str] = ()) -> list[Study]:
    """Return the studies in their order.

    Args:
        quick: short simulations, few loads, one seed: shows that everything works, says nothing of the paper.
        only: names, or first words of names, of those that are wanted; all where empty.

    Raises:
        SimulationError: a name is not there.
    """
    found = calibration()
    every: list[Study] = [
        table_1(found),
        *(table_3(found, keys) for keys in TABLE_3_KEYS),
        table_4(found),
        table_9(found),
        *(table_10(found, process) for process in Arrivals),
        table_12(found),
        table_13(found),
        miscalibration(found),
        table_14(found),
        *situations(found),
        *contests(found),
    ]
    known = {one.name.split()[0] for one in every} | {one.name for one in every}
    for name in only:
        if name not in known:
            raise SimulationError(f"no table is called {name!r}; there are {', '.join(sorted(known))}")
    chosen = [one for one in every if not only or one.name in only or one.name.split()[0] in only]
    return [small(one) for one in chosen] if quick else chosen


def small(study: Study) -> Study:
    """Return a study of a few seconds: short simulations, two loads, one seed."""
    match study:
        case LadderStudy():
            return _small_ladder(study)
        case VariantStudy():
            return replace(
                study, parts=tuple((label, _small_ladder(part)) for label, part in study.parts[:2])
            )
        case DriftStudy():
            return replace(study, cell=with_load(study.cell, 10.0), seeds=1)
        case OperationsStudy():
            return replace(study, cell=_short(study.cell), seeds=1)
    return study


def _small_ladder(study: LadderStudy) -> LadderStudy:
    cell, limits = _short(study.cell), study.objectives[:1]
    return replace(study, cell=cell, seeds=1, ladder=(30.0, 100.0), common=100.0, objectives=limits)


def _short(cell: Cell) -> Cell:
    traffic = cell.traffic
    if isinstance(traffic, Traffic):
        traffic = replace(traffic, seconds=6.0)
    return replace(cell, traffic=traffic, warmup=2.0)
