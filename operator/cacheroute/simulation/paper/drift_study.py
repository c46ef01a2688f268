"""Table 12: what a plan of the last interval costs, and what it costs to install a new one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.paper import plan_paper
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import Assignment, Demand, Fleet
from cacheroute.simulation.experiments.cell import Cell, Outcome, with_load
from cacheroute.simulation.experiments.ladder import mean
from cacheroute.simulation.experiments.policies import POLICIES, with_policy
from cacheroute.simulation.experiments.traffic import Drift, Traffic, shares_of
from cacheroute.simulation.fleet.simulate import FleetSettings
from cacheroute.simulation.paper.calibration import CAPACITY, WARM, Calibration, plan
from cacheroute.simulation.paper.ladder_study import with_interval
from cacheroute.simulation.paper.reference import result
from cacheroute.simulation.paper.study import Section
from cacheroute.simulation.paper.tables import SECONDS, WARMUP, base

LOAD, SIGMA, SEEDS = 160.0, 0.3, 5
TRANSITIONS = (0, 2, 4)
PLANNERS = ("cacheroute", "stable")
METRICS = ("assignment_churn_pct", "count_churn_pct", "stale_kv_loss_pp", "stale_p99_ms", "warmup_dip_pp")
_SETTING = "drift sigma 0.3 at 160 QPS transition"
_AFTER, _WARM = (SECONDS, SECONDS + 10.0), (2 * SECONDS - 20.0, 2 * SECONDS)


@dataclass(frozen=True, slots=True)
class DriftStudy:
    """The table; see ``study.Study``."""

    cell: Cell
    seeds: int = SEEDS
    name: str = "T12"
    title: str = "drift: stale plans, and new ones"
    about: str = (
        f"70B fp8, 128 keys at {LOAD:g} requests/s, a lognormal step of sigma {SIGMA:g} each interval. Stale: a plan from the rates of the interval "
        "before, against one from this interval's rates. Dip: hit in the 10 s after a new plan is installed, below that of 40 s later."
    )

    def cells(self) -> list[Cell]:
        """Return, by planner, transition and seed: stale, fresh, and two intervals with a new plan between."""
        return [
            cell
            for planner in PLANNERS
            for step in TRANSITIONS
            for seed in range(self.seeds)
            for cell in self._three(planner, step, seed)
        ]

    def _three(self, planner: str, step: int, seed: int) -> list[Cell]:
        stays, moves = plan("70b-fp8", 4 * SECONDS), plan("70b-fp8", SECONDS)
        still = Drift(SIGMA, 10 * SECONDS, begin=step + 1, known=step)
        stale = self._drifting(still, seed, with_policy(self.cell.fleet, planner, stays))
        fresh = self._drifting(replace(still, known=step + 1), seed, stale.fleet)
        moving = self._drifting(
            Drift(SIGMA, SECONDS, step, step), seed, with_policy(self.cell.fleet, planner, moves), 2 * SECONDS
        )
        return [stale, fresh, replace(moving, spans=(_AFTER, _WARM))]

    def _drifting(self, drift: Drift, seed: int, fleet: FleetSettings, seconds: float = SECONDS) -> Cell:
        traffic = self.cell.traffic
        if not isinstance(traffic, Traffic):
            raise TypeError("drift needs made-up traffic")
        moved = replace(traffic, drift=drift, seed=seed, seconds=seconds)
        return replace(self.cell, traffic=moved, fleet=fleet)

    def section(self, outcomes: Sequence[Outcome]) -> Section:
        """Return the table."""
        rows, numbers, at = [], {}, 0
        for planner in PLANNERS:
            means: dict[str, list[float]] = {metric: [] for metric in METRICS}
            for step in TRANSITIONS:
                part = outcomes[at : at + 3 * self.seeds]
                at += 3 * self.seeds
                found = _losses(part) | self._churn(planner, step)
                rows += [self._row(planner, f"{step}-{step + 1}", found)]
                for metric in METRICS:
                    means[metric] += found[metric]
            rows += [self._row(planner, "mean", means)]
            numbers[planner] = {metric: mean(values).value for metric, values in means.items()}
        heading = ["policy", "transition"]
        for title in (
            "keys moved %",
            "counts changed %",
            "stale: hit lost, points",
            "stale: p99 more, ms",
            "dip, points",
        ):
            heading += [title, "paper"]
        return Section(heading, rows, self._statements(numbers), numbers=dict(numbers))

    def _row(self, planner: str, transition: str, found: dict[str, list[float]]) -> list[str]:
        row = [POLICIES[planner].title, transition]
        for metric in METRICS:
            paper = result("T12", f"{_SETTING} {transition}", planner, metric)
            row += [with_interval(mean(found[metric]), 1), f"{paper.value:g}" if paper else ""]
        return row

    def _churn(self, planner: str, step: int) -> dict[str, list[float]]:
        moved, counts = [], []
        for seed in range(self.seeds):
            before, after = self._plans(planner, step, seed)
            kept = {key: (one.size, tuple(one)) for key, one in _by_key(before).items()}
            now = {key: (one.size, tuple(one)) for key, one in _by_key(after).items()}
            both = [key for key in now if key in kept]
            moved.append(100.0 * float(np.mean([now[key][1] != kept[key][1] for key in both])))
            counts.append(100.0 * float(np.mean([now[key][0] != kept[key][0] for key in both])))
        return {"assignment_churn_pct": moved, "count_churn_pct": counts}

    def _plans(self, planner: str, step: int, seed: int) -> tuple[Assignment, Assignment]:
        traffic, size = self.cell.traffic, self.cell.fleet.destinations
        if not isinstance(traffic, Traffic):
            raise TypeError("drift needs made-up traffic")
        drifting = replace(traffic, drift=Drift(SIGMA, SECONDS), seed=seed)
        demands = [Demand(shares_of(drifting, step + n) * LOAD) for n in range(2)]
        fleet = Fleet(np.full(size, CAPACITY["70b-fp8"]), np.full(size, WARM, dtype=np.int64))
        first = plan_paper(demands[0], fleet, None)
        if planner == "cacheroute":
            return first, plan_paper(demands[1], fleet, None)
        return first, plan_stable(demands[1], fleet, first)

    def _statements(self, numbers: dict[str, dict[str, float]]) -> list[str]:
        paper, stable = numbers["cacheroute"], numbers["stable"]
        stale, dip = paper["stale_kv_loss_pp"], paper["warmup_dip_pp"]
        order = "more" if dip > stale else "no more"
        return [
            f"A new plan of `Paper` costs {order} than a stale one: {dip:.1f} points of hit in the first seconds against {stale:.1f} points (the paper: 13.6 and 1.0).",
            (
                f"`Paper` moves {paper['assignment_churn_pct']:.0f} % of the keys in a step though the counts of {paper['count_churn_pct']:.1f} % change (the paper: 94.5 and 1.1); "
                f"`Stable` moves {stable['assignment_churn_pct']:.0f} %, and its dip is {stable['warmup_dip_pp']:.1f} points."
            ),
        ]


def _by_key(assignment: Assignment) -> dict[int, NDArray[np.int64]]:
    parts = np.split(assignment.members, assignment.offsets[1:-1])
    return {int(key): np.sort(one) for key, one in zip(assignment.admitted, parts, strict=True)}


def _losses(part: Sequence[Outcome]) -> dict[str, list[float]]:
    stale, fresh, moving = part[::3], part[1::3], part[2::3]
    pairs = list(zip(stale, fresh, strict=True))
    return {
        "stale_kv_loss_pp": [100 * (new.figures.token_hit - old.figures.token_hit) for old, new in pairs],
        "stale_p99_ms": [1000 * (old.figures.ttft_p99 - new.figures.ttft_p99) for old, new in pairs],
        "warmup_dip_pp": [100 * (one.hits[1] - one.hits[0]) for one in moving],
    }


def table_12(found: Calibration) -> DriftStudy:
    """Return the study of drift."""
    return DriftStudy(replace(with_load(base(found, "70b-fp8", 128), LOAD), warmup=WARMUP))
