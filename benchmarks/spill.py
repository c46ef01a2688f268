"""What spilling would give: an overloaded destination's keys have further members for a while.

Nothing of this is in the operator. It would be endpoint metadata only, so no request waits for it; here the control plane
looks at the queues every few seconds, and docs/decisions/0016-spill.md says what came out. Run: `.venv/bin/python -m benchmarks.spill`.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.types import Assignment
from cacheroute.simulation.experiments.policies import with_policy
from cacheroute.simulation.experiments.traffic import Traffic, make
from cacheroute.simulation.fleet.figures import FleetFigures, fleet_figures
from cacheroute.simulation.fleet.kernel import advance, run
from cacheroute.simulation.fleet.simulate import FleetSettings, simulate
from cacheroute.simulation.fleet.state import Work, state, timing
from cacheroute.simulation.paper.calibration import calibration
from cacheroute.simulation.paper.operations import REPLANNED, situations
from cacheroute.simulation.routing.planner import Plans, with_assignment
from cacheroute.simulation.routing.view import Costs, memory, view
from cacheroute.simulation.struct import pointer

HOT, CALM, LEAST = 2.0, 1.25, 8
"""A destination spills from HOT times the mean of the requests in flight, and at least LEAST, until it is below CALM."""
PERIODS = (1.0, 2.0, 5.0)
MOST = 8
"""Members of a key that spills again and again."""
WORKLOADS = ("O4", "O6", "O1", "O5")
RIVALS = ("flat", "chwbl", "preble", "stable")
SEEDS = (0, 1)


@dataclass(frozen=True, slots=True)
class Served:
    """One simulation, and the share of (destination, look) in which a destination spilled."""

    figures: FleetFigures
    spilling: float


def spilled(
    work: Work, settings: FleetSettings, before: NDArray[np.float64], period: float, *, most: int = 2
) -> Served:
    """Simulate `Stable`, with a look at the queues every ``period`` seconds; destinations are never lost here.

    Args:
        work: the requests.
        settings: the fleet.
        before: float64[K], rates measured before.
        period: seconds between two looks.
        most: members that a key may have; 2 is its standby only, more are the least loaded, one more at each look at
            which all members of the key are hot.
    """
    plan = settings.plan
    if plan is None:
        raise TypeError("only plans spill")
    keys, size = max(int(work.key.max()) + 1, before.size), settings.destinations
    fleet = view(np.full(size, settings.limits.tokens, dtype=np.int64))
    made = state(work, size, settings.limits, timing(settings.costs, settings.overheads))
    costs = Costs(objective=settings.objective)
    known, plans = memory(size, keys, settings.seed, costs), Plans(plan, size)
    known = plans.replan(known, before, fleet.up)
    hot, looks, found, begin = np.zeros(size, dtype=np.bool_), 0, 0, 0
    added: dict[int, list[int]] = {}
    for step in range(1, int(float(work.arrival[-1]) / period) + 1):
        now = step * period
        end = int(np.searchsorted(work.arrival, now))
        run(settings.policy.value, pointer(known), pointer(fleet), pointer(made), begin, end)
        advance(pointer(made), pointer(fleet), now)
        begin = end
        planned = now % plan.interval_seconds == 0
        if planned:
            first = int(np.searchsorted(work.arrival, now - plan.window_seconds))
            counts = np.bincount(work.key[first:end], minlength=keys)
            known = plans.replan(known, counts / min(plan.window_seconds, now), fleet.up)
        bound = np.where(hot, CALM, HOT) * fleet.running.mean()
        hot = fleet.running >= np.maximum(bound, LEAST)
        looks, found = looks + size, found + int(hot.sum())
        if plans.assignment is not None:
            added = {} if planned else added
            added = _widened(plans.assignment, hot, added, fleet.running, most)
            known = with_assignment(known, _with(plans.assignment, added), keys)
    run(settings.policy.value, pointer(known), pointer(fleet), pointer(made), begin, work.arrival.size)
    advance(pointer(made), pointer(fleet), np.finfo(np.float64).max)
    return Served(fleet_figures(work, made.done, size, 180.0), found / max(looks, 1))


def _widened(
    plan: Assignment,
    hot: NDArray[np.bool_],
    added: dict[int, list[int]],
    running: NDArray[np.int64],
    most: int,
) -> dict[int, list[int]]:
    """Return the further members of each key: none once its own are calm, one more where all that it has are hot."""
    further, order = {}, np.argsort(running, kind="stable").tolist()
    parts = np.split(plan.members, plan.offsets[1:-1])
    for at, own in enumerate(parts):
        if not hot[own].any():
            continue
        more = added.get(at, [])
        have = [*own.tolist(), *more]
        if not more and plan.standby[at] >= 0:
            more = [int(plan.standby[at])]
        elif len(have) < most and hot[have].all():
            more = [*more, next(r for r in order if r not in have)]
        further[at] = more
    return further


def _with(plan: Assignment, added: dict[int, list[int]]) -> Assignment:
    parts = np.split(plan.members, plan.offsets[1:-1])
    wider = [np.append(own, added.get(at, [])).astype(np.int64) for at, own in enumerate(parts)]
    edges = np.cumsum([0, *(one.size for one in wider)], dtype=np.int64)
    return Assignment(plan.admitted, edges, np.concatenate(wider), plan.standby)


def main() -> None:
    """Print a table."""
    sys.stdout.write(
        "| workload | routing | hit % | p99, s | worst key p99, s | max/mean | spilling % |\n|---|---|---|---|---|---|---|\n"
    )
    for study in situations(calibration()):
        if study.name in WORKLOADS:
            for seed in SEEDS:
                _rows(study.name, study.cell.traffic, study.cell.fleet, seed)


def _rows(name: str, traffic: Traffic | Work, fleet: FleetSettings, seed: int) -> None:
    if not isinstance(traffic, Traffic):
        raise TypeError("only made-up traffic has seeds")
    work, before = make(replace(traffic, seed=seed))
    for policy in RIVALS:
        settings = replace(with_policy(fleet, policy, REPLANNED), seed=seed)
        done = simulate(work, settings, before if settings.plan else None)
        _row(
            f"{name} seed {seed}",
            policy,
            Served(fleet_figures(work, done, settings.destinations, 180.0), 0.0),
        )
    settings = replace(with_policy(fleet, "stable", REPLANNED), seed=seed)
    for period in PERIODS:
        for words, most in (("to the standby", 2), (f"to up to {MOST}", MOST)):
            served = spilled(work, settings, before, period, most=most)
            _row(f"{name} seed {seed}", f"stable, spills {words}, every {period:g} s", served)


def _row(name: str, policy: str, served: Served) -> None:
    one = served.figures
    sys.stdout.write(
        f"| {name} | {policy} | {100 * one.token_hit:.1f} | {one.ttft_p99:.2f} | {one.worst_key_p99:.2f} | {one.imbalance:.2f} | {100 * served.spilling:.1f} |\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
