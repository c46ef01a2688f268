"""Figure 20: routing policies over the size of caches and of the fleet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cacheroute.simulation.experiments.ladder import mean
from cacheroute.simulation.paper.agreement import agreement
from cacheroute.simulation.paper.ladder_study import with_interval
from cacheroute.simulation.paper.study import Agreement, Curves, Section
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.year.published import Routed, routing
from cacheroute.simulation.year.run import ManyCaches, Values
from cacheroute.simulation.year.study import MADE, REQUESTS, SEEDS
from cacheroute.simulation.year.workload import Workload

POLICIES = {
    "round_robin": Policy.ROUND_ROBIN,
    "load_first": Policy.LOAD_FIRST,
    "sticky": Policy.USER_STICKY,
    "cache_first": Policy.CACHE_FIRST,
}
"""By the paper's names."""
TITLES = {name: name for name in POLICIES}
FLEETS, CACHE = (5, 10, 15, 20), 25_000
"""Figure 20c and d: destinations, and the tokens of each cache."""
LARGE = 20
BOUND = 1.07
"""Load of the busiest destination over the mean that the paper calls small."""
Table = Mapping[tuple[str, int, int], Routed]


class _Metric(NamedTuple):
    field: str
    ours: str
    title: str
    scale: float
    digits: int


_METRICS = (
    _Metric("token_hit", "token_hit", "token hit %", 100.0, 1),
    _Metric("replication", "replication", "replication", 1.0, 2),
    _Metric("max_mean_token_load", "max_over_mean", "max/mean", 1.0, 2),
)


@dataclass(frozen=True, slots=True)
class RoutingStudy:
    """One model; see ``study.TraceStudy``.

    Attributes:
        workload: the model's traffic.
        points: destinations, and cache tokens of each.
        part: of the figure, for the name.
        what: is varied, for the title.
    """

    workload: Workload
    points: tuple[tuple[int, int], ...]
    part: str
    what: str
    requests: int = REQUESTS
    seeds: int = SEEDS

    @property
    def name(self) -> str:
        """Figure and model."""
        return f"{self.part} {self.workload.title}"

    @property
    def title(self) -> str:
        """For people."""
        return f"routing over {self.what}, {self.workload.title}"

    @property
    def about(self) -> str:
        """What is replayed."""
        return (
            f"Figure 20 of A Year in LLM Serving (arXiv 2608.13573): sessions over N destinations with an LRU cache each. {MADE} Its users are chosen, so that the busiest has as much as figure 20 shows of `sticky`: "
            "how unequal `sticky` loads are is not a prediction. Published numbers in brackets."
        )

    def replays(self) -> list[ManyCaches]:
        """Return all, by seed, policy and point."""
        return [
            ManyCaches(self.workload, self.requests, seed, policy, destinations, tokens)
            for seed in range(self.seeds)
            for policy in POLICIES.values()
            for destinations, tokens in self.points
        ]

    def told(self, values: Sequence[Values]) -> Section:
        """Return the section."""
        found = {
            (name, *point, metric.field): self._seeds(values, name, point, metric)
            for name in POLICIES
            for point in self.points
            for metric in _METRICS
        }
        means = {where: mean(seeds).value for where, seeds in found.items()}
        heading = ["N", "cache, tokens"] + [f"{name}: {one.title}" for one in _METRICS for name in POLICIES]
        rows = [
            [f"{point[0]}", f"{point[1]:,}"]
            + [self._cell(found, name, point, one) for one in _METRICS for name in POLICIES]
            for point in self.points
        ]
        return Section(
            heading,
            rows,
            self._statements(means),
            self._agreement(means),
            [
                self._curves(means, one)
                for one in _METRICS[: 3 if len({p[0] for p in self.points}) > 1 else 2]
            ],
            {f"{name} N={n} {tokens} {field}": value for (name, n, tokens, field), value in means.items()},
        )

    def _seeds(
        self, values: Sequence[Values], name: str, point: tuple[int, int], one: _Metric
    ) -> list[float]:
        width = len(self.points)
        begin = list(POLICIES).index(name) * width + self.points.index(point)
        return [values[seed * len(POLICIES) * width + begin][one.ours] for seed in range(self.seeds)]

    def _published(self, name: str, point: tuple[int, int], one: _Metric) -> float | None:
        known = routing(self.workload.model).get((name, *point))
        return float(getattr(known, one.field)) if known else None

    def _cell(
        self,
        found: Mapping[tuple[str, int, int, str], list[float]],
        name: str,
        point: tuple[int, int],
        one: _Metric,
    ) -> str:
        ours = with_interval(
            mean([one.scale * value for value in found[name, *point, one.field]]), one.digits
        )
        paper = self._published(name, point, one)
        return ours if paper is None else f"{ours} ({one.scale * paper:.{one.digits}f})"

    def _agreement(self, means: Mapping[tuple[str, int, int, str], float]) -> Agreement:
        total = Agreement()
        for point in self.points:
            for one in _METRICS:
                papers = {
                    name: known
                    for name in POLICIES
                    if (known := self._published(name, point, one)) is not None
                }
                ours = {name: means[name, *point, one.field] for name in papers}
                total += agreement(f"{one.title}, N = {point[0]}, {point[1]:,} tokens", ours, papers, TITLES)
        return total

    def _statements(self, means: Mapping[tuple[str, int, int, str], float]) -> list[str]:
        told = []
        for one in _METRICS:
            gaps = [
                one.scale * abs(means[name, *point, one.field] - known)
                for name in POLICIES
                for point in self.points
                if (known := self._published(name, point, one)) is not None
            ]
            if gaps:
                told.append(
                    f"{one.title} {sum(gaps) / len(gaps):.{one.digits}f} (most {max(gaps):.{one.digits}f})"
                )
        lines = [f"Mean distance to the published numbers: {'; '.join(told)}."] if told else []
        return lines + (self._of_fleets(means) if len({point[0] for point in self.points}) > 1 else [])

    def _of_fleets(self, means: Mapping[tuple[str, int, int, str], float]) -> list[str]:
        """Judge what the paper says in words of larger fleets."""
        spread = {name: [means[name, *point, "replication"] for point in self.points] for name in POLICIES}
        blind = all(spread[name] == sorted(spread[name]) for name in ("round_robin", "load_first"))
        lines = [
            f"{'**Agrees**' if blind else '**Disagrees**'} with “replication of round_robin and load_first increases steadily with N”."
        ]
        up = spread["cache_first"][-1] > spread["cache_first"][0]
        expected = self.workload.model == "v32"
        lines.append(
            f"{'**Agrees**' if up == expected else '**Disagrees**'} with “replication of cache_first {'increases moderately' if expected else 'decreases from roughly 1.4 toward 1.1'}” from N = 5 to 20: "
            f"{spread['cache_first'][0]:.2f} to {spread['cache_first'][-1]:.2f}."
        )
        worst = max(means["cache_first", *point, "max_mean_token_load"] for point in self.points)
        lines.append(
            f"{'**Agrees**' if worst <= BOUND else '**Disagrees**'} with “the imbalance of cache_first remains within 5 to 7 %”: at most {100 * (worst - 1):.1f} %."
        )
        return lines

    def _curves(self, means: Mapping[tuple[str, int, int, str], float], one: _Metric) -> Curves:
        fleets = len({point[0] for point in self.points}) > 1
        at = 0 if fleets else 1
        curves: dict[str, list[tuple[float, float]]] = {}
        for name in POLICIES:
            if one.field == "max_mean_token_load" and name == "sticky":
                continue
            curves[name] = [
                (float(point[at]), one.scale * means[name, *point, one.field]) for point in self.points
            ]
            theirs = [
                (float(point[at]), one.scale * known)
                for point in self.points
                if (known := self._published(name, point, one)) is not None
            ]
            if theirs:
                curves[f"{name}, paper"] = theirs
        across = "destinations" if fleets else "cache of one destination, tokens"
        return Curves(f"{self.title}: {one.title}", across, one.title, curves, across_logarithmic=not fleets)


def over_caches(workload: Workload) -> RoutingStudy:
    """Return figure 20a and b: 20 destinations, the published cache sizes."""
    sizes = sorted({tokens for _, n, tokens in routing(workload.model) if n == LARGE})
    return RoutingStudy(workload, tuple((LARGE, tokens) for tokens in sizes), "F20ab", "the size of caches")


def over_fleets(workload: Workload) -> RoutingStudy:
    """Return figure 20c and d: caches of 25,000 tokens, 5 to 20 destinations."""
    return RoutingStudy(workload, tuple((n, CACHE) for n in FLEETS), "F20cd", "the size of the fleet")
