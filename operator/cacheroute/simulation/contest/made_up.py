"""The made-up workloads of docs/results.md as judged workloads: who is ahead of `Stable`, and what the diagnosis says."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.contest.contest import Simulate
from cacheroute.simulation.contest.standing import Figures
from cacheroute.simulation.experiments.cell import Cell, with_load, with_seed
from cacheroute.simulation.experiments.traffic import Traffic, make
from cacheroute.simulation.paper.calibration import Calibration
from cacheroute.simulation.paper.ladder_study import LadderStudy
from cacheroute.simulation.paper.operations import OperationsStudy, contests, situations
from cacheroute.simulation.paper.tables import table_1, table_9
from cacheroute.simulation.routing.planner import PlanSettings
from cacheroute.simulation.shadow.diagnosis import Said, counted, diagnoses

Study = OperationsStudy | LadderStudy
JUDGES = ("flat", "chwbl", "dualmap", "preble", "stable")
"""On that page some of these is ahead of `Stable` wherever anybody is."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One workload.

    Attributes:
        name: of the workload.
        figures: by policy.
        said: number of judged intervals as "intervals", and in how many of them each warning was given.
    """

    name: str
    figures: dict[str, Figures]
    said: dict[str, int]


def workloads(found: Calibration) -> list[Study]:
    """Return the studies that are judged, one seed each: where `Stable` is known to win, and where to lose."""
    every: list[Study] = [table_1(found), table_9(found), *situations(found), *contests(found)]
    return [
        replace(one, seeds=1, policies=tuple(policy for policy in one.policies if policy in JUDGES))
        for one in every
    ]


def judge(study: Study, simulate: Simulate) -> Judged:
    """Simulate a study and diagnose its traffic at the load at which hits and tails are told."""
    outcomes = simulate(study.cells())
    if isinstance(study, LadderStudy):
        limit = study.objectives[0]
        figures = {
            policy: Figures(
                one.capacities[limit].load.value, one.hit.value, one.tail.value, one.worst_key.value
            )
            for policy, one in study.summaries(outcomes).items()
        }
        base = with_load(study.cell, study.common)
    else:
        figures = _means(study, [one.figures for one in outcomes])
        base = study.cell
    cells = [with_seed(base, seed) for seed in range(study.seeds)]
    return Judged(f"{study.name}: {study.title}", figures, _said(cells, study.plan))


def _means(study: OperationsStudy, outcomes: Sequence[object]) -> dict[str, Figures]:
    def mean(policy: int, field: str) -> float:
        part = outcomes[policy * study.seeds : (policy + 1) * study.seeds]
        return sum(float(getattr(one, field)) for one in part) / study.seeds

    return {
        policy: Figures(None, 100.0 * mean(n, "token_hit"), mean(n, "ttft_p99"), mean(n, "worst_key_p99"))
        for n, policy in enumerate(study.policies)
    }


def _said(cells: Sequence[Cell], plan: PlanSettings) -> dict[str, int]:
    total: Counter[str] = Counter()
    for cell in cells:
        said = said_of(cell, plan)
        warmup = cell.warmup if len(said) > 1 else -1.0
        total.update(counted(said, warmup))
    return dict(total)


def said_of(cell: Cell, plan: PlanSettings) -> list[Said]:
    """Return the diagnoses of a simulation of made-up traffic."""
    if not isinstance(cell.traffic, Traffic):
        raise TypeError("only made-up traffic is diagnosed here")
    made = make(cell.traffic)
    return diagnoses(made.work, plan, cell.fleet.destinations, before=made.before, losses=cell.fleet.losses)
