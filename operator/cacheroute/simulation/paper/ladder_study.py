"""Tables of policies over a ladder of loads: hit, capacity at an objective, tails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.experiments.cell import Cell, Outcome, with_load, with_seed
from cacheroute.simulation.experiments.ladder import Capacity, Censored, Mean, capacity, mean
from cacheroute.simulation.experiments.policies import POLICIES, with_policy
from cacheroute.simulation.fleet.figures import FleetFigures
from cacheroute.simulation.paper.agreement import agreement
from cacheroute.simulation.paper.reference import Result, result
from cacheroute.simulation.paper.study import Agreement, Curves, Section
from cacheroute.simulation.routing.planner import PlanSettings

_SIGNS = {Censored.NO: "", Censored.BELOW: "<", Censored.ABOVE: "≥"}


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy.

    Attributes:
        capacities: by objective in seconds.
        hit: token hit at the common load, percent.
        tail: 99th percentile of the time to the first token there, seconds.
        imbalance: most requests of a destination / mean, there.
        worst_key: the largest 99th percentile of a key there, seconds.
        fairness: Jain's index of the keys' slowdowns there.
        tails: at every load, mean over the seeds.
    """

    capacities: Mapping[float, Capacity]
    hit: Mean
    tail: Mean
    imbalance: Mean
    worst_key: Mean
    fairness: Mean
    tails: Sequence[float]


@dataclass(frozen=True, slots=True)
class LadderStudy:
    """A table; see ``study.Study``.

    Attributes:
        setting: the paper's, empty where the paper has nothing to compare with.
        cell: the simulation at any load, seed and policy.
        plan: how plans are made, for those policies that have one.
        policies: names.
        ladder: loads, ascending, requests/s.
        seeds: how many.
        objectives: limits on the 99th percentile of the time to the first token, seconds.
        common: the load at which hit and tails are read, one of the ladder.
        flat: policy that ratios are taken to.
    """

    name: str
    title: str
    about: str
    setting: str
    cell: Cell
    plan: PlanSettings
    policies: tuple[str, ...]
    ladder: tuple[float, ...]
    seeds: int
    common: float
    objectives: tuple[float, ...] = (3.5,)
    flat: str = "flat"

    def cells(self) -> list[Cell]:
        """Return the simulations, by policy, seed and load."""
        return [
            with_load(with_seed(self._routed(policy), seed), load)
            for policy in self.policies
            for seed in range(self.seeds)
            for load in self.ladder
        ]

    def _routed(self, policy: str) -> Cell:
        return replace(self.cell, fleet=with_policy(self.cell.fleet, policy, self.plan))

    def summaries(self, outcomes: Sequence[Outcome]) -> dict[str, Summary]:
        """Return what each policy gives."""
        width = len(self.ladder)
        runs = [
            [one.figures for one in outcomes[start : start + width]]
            for start in range(0, len(outcomes), width)
        ]
        return {
            policy: self._summary(runs[n * self.seeds : (n + 1) * self.seeds])
            for n, policy in enumerate(self.policies)
        }

    def _summary(self, runs: Sequence[Sequence[FleetFigures]]) -> Summary:
        here = [run[self.ladder.index(self.common)] for run in runs]
        return Summary(
            capacities={limit: capacity(self.ladder, runs, limit) for limit in self.objectives},
            hit=mean([100.0 * one.token_hit for one in here]),
            tail=mean([one.ttft_p99 for one in here]),
            imbalance=mean([one.imbalance for one in here]),
            worst_key=mean([one.worst_key_p99 for one in here]),
            fairness=mean([one.fairness for one in here]),
            tails=[mean([run[at].ttft_p99 for run in runs]).value for at in range(len(self.ladder))],
        )

    def section(self, outcomes: Sequence[Outcome]) -> Section:
        """Return the table, ours beside the paper's."""
        summaries = self.summaries(outcomes)
        heading = ["policy", f"hit % at {self.common:g}/s", "paper"]
        for limit in self.objectives:
            heading += [f"capacity at {limit:g} s, requests/s", "paper", "ratio to flat", "paper"]
        heading += [f"p99 at {self.common:g}/s, s", "paper", "max/mean", "paper", "worst key p99, s"]
        return Section(
            heading=heading,
            rows=[self._row(policy, summaries) for policy in self.policies],
            statements=[
                f"Loads {', '.join(f'{load:g}' for load in self.ladder)} requests/s; seeds: {self.seeds}.",
                *(self._ratio_statement(summaries, limit) for limit in self.objectives),
            ],
            agreement=self._agreement(summaries) if self.setting else None,
            plots=[self._plot(summaries)],
            numbers={policy: _numbers(one) for policy, one in summaries.items()},
        )

    def _paper(self, policy: str, metric: str) -> Result | None:
        return result(self.name.split()[0], self.setting, policy, metric) if self.setting else None

    def _row(self, policy: str, summaries: Mapping[str, Summary]) -> list[str]:
        one, flat = summaries[policy], summaries[self.flat]
        row = [POLICIES[policy].title, with_interval(one.hit, 1), self._papers(policy, "kv_hit_pct")]
        for limit in self.objectives:
            metric = f"capacity_qps_at_{limit:g}s"
            row += [with_censoring(one.capacities[limit], self.ladder[0]), self._papers(policy, metric)]
            row += [
                _ratio(one.capacities[limit].load.value, flat.capacities[limit].load.value),
                self._paper_ratio(policy, metric),
            ]
        row += [with_interval(one.tail, 2), self._papers(policy, f"p99_ttft_s_at_{self.common:g}qps")]
        row += [f"{one.imbalance.value:.2f}", self._papers(policy, "imbalance_max_over_mean")]
        return [*row, f"{one.worst_key.value:.2f}"]

    def _papers(self, policy: str, metric: str) -> str:
        found = self._paper(policy, metric)
        if found is None:
            return ""
        return f"{found.value:g}" + (f" ± {found.interval:g}" if found.interval else "")

    def _paper_ratio(self, policy: str, metric: str) -> str:
        one, flat = self._paper(policy, metric), self._paper(self.flat, metric)
        return _ratio(one.value, flat.value) if one and flat else ""

    def _ratio_statement(self, summaries: Mapping[str, Summary], limit: float) -> str:
        loads = {policy: one.capacities[limit].load.value for policy, one in summaries.items()}
        ordered = sorted(loads, key=lambda policy: -loads[policy])
        words = ", ".join(
            f"{POLICIES[policy].title} {with_censoring(summaries[policy].capacities[limit], self.ladder[0])}"
            for policy in ordered
        )
        return f"Capacity at {limit:g} s, highest first: {words}."

    def _agreement(self, summaries: Mapping[str, Summary]) -> Agreement:
        total = Agreement()
        for metric, ours in self._metrics(summaries).items():
            found = {policy: self._paper(policy, metric) for policy in self.policies}
            papers = {policy: one.value for policy, one in found.items() if one is not None}
            total += agreement(metric.replace("_", " "), ours, papers)
        return total

    def _metrics(self, summaries: Mapping[str, Summary]) -> dict[str, dict[str, float]]:
        metrics = {
            "kv_hit_pct": {policy: one.hit.value for policy, one in summaries.items()},
            f"p99_ttft_s_at_{self.common:g}qps": {
                policy: one.tail.value for policy, one in summaries.items()
            },
            "imbalance_max_over_mean": {policy: one.imbalance.value for policy, one in summaries.items()},
        }
        for limit in self.objectives:
            metrics[f"capacity_qps_at_{limit:g}s"] = {
                policy: one.capacities[limit].load.value for policy, one in summaries.items()
            }
        return metrics

    def _plot(self, summaries: Mapping[str, Summary]) -> Curves:
        return Curves(
            title=f"{self.name}: {self.title}",
            across="offered load, requests/s",
            up="p99 time to first token, s",
            curves={
                POLICIES[policy].title: list(zip(self.ladder, one.tails, strict=True))
                for policy, one in summaries.items()
            },
            limit=self.objectives[0],
            logarithmic=True,
        )


def with_interval(value: Mean, digits: int) -> str:
    """Return a mean with its interval as text."""
    text = f"{value.value:.{digits}f}"
    return f"{text} ± {value.half_width:.{digits}f}" if value.half_width > 0 else text


def with_censoring(value: Capacity, lowest: float) -> str:
    """Return a capacity as text, with the sign of the side on which it is censored; ``lowest`` load that was tried."""
    if value.load.value == 0:
        return f"<{lowest:g}"
    return f"{_SIGNS[value.censored]}{with_interval(value.load, 0)}"


def _ratio(one: float, flat: float) -> str:
    return f"{one / flat:.2f}" if flat else "–"


def _numbers(one: Summary) -> dict[str, object]:
    return {
        "hit_percent": one.hit.value,
        "capacity": {
            f"{limit:g}": {
                "mean": found.load.value,
                "half_width": found.load.half_width,
                "censored": found.censored,
            }
            for limit, found in one.capacities.items()
        },
        "p99_seconds": one.tail.value,
        "imbalance": one.imbalance.value,
        "worst_key_p99_seconds": one.worst_key.value,
        "fairness": one.fairness.value,
        "p99_by_load": list(one.tails),
    }
