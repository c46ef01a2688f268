"""Drifting rates: how many keys each policy moves, how much of the rate lands cold, how even the load stays.

Keys are the K highest of the paper's 128,824 (lognormal, sigma 1.65, shares capped at 0.29 %), on its 30 destinations.
Every interval each rate is multiplied by a lognormal step of sigma 0.3, and the total is kept. The paper does so for
six intervals. A free walk over 50 ends with one key at a fifth of the traffic, which is another workload, so the
walk is drawn back to where it began with the strength that keeps the spread of its six intervals (their mean
log-variance, 3.5 sigma^2). The free walk is reported beside it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.runner import Result, machine
from cacheroute.planning.options import StableOptions
from cacheroute.planning.paper import plan_paper
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import Assignment, Demand, Fleet, Plan

ALL_KEYS, SIGMA, LARGEST_SHARE = 128_824, 1.65, 0.0029
DESTINATIONS, CAPACITY, WARM = 30, 2.5, 128
TRAFFIC = 70.0
"""Requests/s: 93 % of the fleet's capacity, so that a key that fits one destination leaves it within 1.07 of the mean."""
STEP, STEPS, SEEDS = 0.3, 50, 5
PAPER_INTERVALS = 6
BUDGETS = (0.01, 0.02, 0.05, 0.10)
UNLIMITED = StableOptions(budget=1.0, weigh=False)
"""What the balance alone asks for: no budget, and nothing held."""

Floats = NDArray[np.float64]
Planner = Callable[[Demand, Fleet, Assignment | None], Plan]


@dataclass(frozen=True, slots=True)
class Study:
    """One policy under drift; means are over all steps of all seeds.

    Attributes:
        keys_moved_percent: mean share of keys whose destinations changed.
        rate_cold_percent: mean share of the request rate on destinations newly given to their key.
        optional_rate_percent: the largest share that rebalancing moved in one interval.
        imbalance: the largest max/mean of any step.
        mean_imbalance: mean of max/mean.
        single_loss: median of the worst max/mean after the loss of one destination.
        seeds: keys_moved_percent of each seed.
        cold_by_step: mean over the seeds of the share of the rate that lands cold, percent, for each step.
        imbalance_by_step: likewise of max/mean.
    """

    keys_moved_percent: float
    rate_cold_percent: float
    optional_rate_percent: float
    imbalance: float
    mean_imbalance: float
    single_loss: float
    seeds: list[float]
    cold_by_step: list[float]
    imbalance_by_step: list[float]


def back_pull(intervals: int = PAPER_INTERVALS) -> float:
    """Return the factor on the log offset that keeps the mean log-variance of a walk of so many intervals."""
    variance = sum(range(1, intervals + 1)) / intervals
    return float(np.sqrt(1.0 - 1.0 / variance))


def rates(keys: int, seed: int, pull: float) -> Iterator[Floats]:
    """Yield the rates of STEPS + 1 intervals, float64[keys], TRAFFIC requests/s in all."""
    random = np.random.default_rng(seed)
    everyone = np.sort(random.lognormal(0.0, SIGMA, ALL_KEYS))[::-1]
    base = np.minimum(everyone, LARGEST_SHARE * everyone.sum())[:keys]
    offset = np.zeros(keys)
    for _ in range(STEPS + 1):
        rate = base * np.exp(offset)
        yield rate * (TRAFFIC / rate.sum())
        offset = pull * offset + STEP * random.standard_normal(keys)


def study(keys: int, planner: Planner, pull: float, seeds: int = SEEDS) -> Study:
    """Let a policy follow the drift."""
    fleet = Fleet(np.full(DESTINATIONS, CAPACITY), np.full(DESTINATIONS, max(WARM, keys), dtype=np.int64))
    rows: list[list[Floats]] = []
    for seed in range(seeds):
        plan: Plan | None = None
        steps = []
        for rate in rates(keys, seed, pull):
            after = planner(Demand(rate), fleet, plan)
            if plan is not None:
                steps.append(_row(after, keys))
            plan = after
        rows.append(steps)
    table = np.array(rows)
    return Study(
        keys_moved_percent=round(100 * float(table[:, :, 0].mean()), 3),
        rate_cold_percent=round(100 * float(table[:, :, 1].mean()), 3),
        optional_rate_percent=round(100 * float(table[:, :, 2].max()), 3),
        imbalance=round(float(table[:, :, 3].max()), 4),
        mean_imbalance=round(float(table[:, :, 3].mean()), 4),
        single_loss=round(float(np.median(table[:, :, 4])), 4),
        seeds=[round(100 * float(one), 3) for one in table[:, :, 0].mean(axis=1)],
        cold_by_step=[round(100 * float(one), 3) for one in table[:, :, 1].mean(axis=0)],
        imbalance_by_step=[round(float(one), 4) for one in table[:, :, 3].mean(axis=0)],
    )


def _row(plan: Plan, keys: int) -> Floats:
    report = plan.report
    return np.array(
        [
            report.keys_moved / keys,
            report.rewarm_rate / TRAFFIC,
            report.rebalance.moved_rate / TRAFFIC,
            report.imbalance,
            report.loss.imbalance,
        ]
    )


def stable(options: StableOptions) -> Planner:
    """Return policy Stable with these options."""
    return lambda demand, fleet, previous: plan_stable(demand, fleet, previous, options=options)


def drift(name: str, keys: int) -> Result:
    """Follow the drift with Stable without a budget, with Paper in the same run, and with each budget."""
    pull = back_pull()
    free = study(keys, stable(UNLIMITED), pull)
    paper = study(keys, plan_paper, pull)
    budgets = {
        f"{100 * budget:.0f}": _fields(study(keys, stable(replace(UNLIMITED, budget=budget)), pull))
        for budget in BUDGETS
    }
    walk = study(keys, stable(UNLIMITED), 1.0)
    return Result(
        name=name,
        value=free.keys_moved_percent,
        unit="% of keys moved a step",
        baseline=paper.keys_moved_percent,
        baseline_name="policy Paper",
        ratio=round(free.keys_moved_percent / paper.keys_moved_percent, 4),
        runs=free.seeds,
        machine=machine(),
        more={
            "rate_cold_percent": free.rate_cold_percent,
            "max_over_mean": free.imbalance,
            "single_loss_median": free.single_loss,
            "paper_rate_cold_percent": paper.rate_cold_percent,
            "paper_max_over_mean": paper.imbalance,
            "seeds": SEEDS,
            "steps": STEPS,
            "sigma": STEP,
            "destinations": DESTINATIONS,
            "without_budget": _fields(free),
            "paper": _fields(paper),
            "budgets": budgets,
            "free_walk": _fields(walk),
        },
    )


def _fields(one: Study) -> dict[str, float | list[float]]:
    return {
        "keys_moved_percent": one.keys_moved_percent,
        "rate_cold_percent": one.rate_cold_percent,
        "largest_optional_percent": one.optional_rate_percent,
        "max_over_mean": one.imbalance,
        "mean_max_over_mean": one.mean_imbalance,
        "cold_by_step": one.cold_by_step,
        "imbalance_by_step": one.imbalance_by_step,
    }


BENCHMARKS: dict[str, Callable[[], Result]] = {
    "drift-k128": lambda: drift("drift-k128", 128),
    "drift-k2000": lambda: drift("drift-k2000", 2000),
}
