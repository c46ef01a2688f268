"""Figure 19: what the production router does with one user's requests at low and at high load."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.experiments.ladder import mean
from cacheroute.simulation.paper.ladder_study import with_interval
from cacheroute.simulation.paper.study import Section
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.year.run import ManyCaches, Values
from cacheroute.simulation.year.study import MADE, REQUESTS, SEEDS
from cacheroute.simulation.year.workload import Workload

LOADS = (0.5, 2.0, 8.0, 32.0, 128.0)
"""Requests/s of the fleet."""
DESTINATIONS, CACHE = 20, 1_000_000
_POLICIES = {
    "production": Policy.PRODUCTION,
    "cache_first": Policy.CACHE_FIRST,
    "load_first": Policy.LOAD_FIRST,
}
_COLUMNS = (
    ("token_hit", "token hit %", 100.0, 1),
    ("replication", "replication", 1.0, 2),
    ("max_over_mean", "max/mean", 1.0, 2),
)


@dataclass(frozen=True, slots=True)
class ProductionStudy:
    """The figure; see ``study.TraceStudy``."""

    workload: Workload
    requests: int = REQUESTS
    seeds: int = SEEDS

    @property
    def name(self) -> str:
        """Figure and model."""
        return f"F19 {self.workload.title}"

    @property
    def title(self) -> str:
        """For people."""
        return f"the production router over load, {self.workload.title}"

    @property
    def about(self) -> str:
        """What is replayed."""
        return (
            f"Section 7.1 and figure 19 of A Year in LLM Serving (arXiv 2608.13573): of the destinations with nearly the fewest requests, the one with most of the prompt. The paper shows one user in "
            f"production and no numbers, so only its words can be judged. {DESTINATIONS} destinations of {CACHE:,} tokens; the same requests, faster and slower. {MADE}"
        )

    def replays(self) -> list[ManyCaches]:
        """Return all, by policy, load and seed."""
        return [
            ManyCaches(replace(self.workload, rate=load), self.requests, seed, policy, DESTINATIONS, CACHE)
            for policy in _POLICIES.values()
            for load in LOADS
            for seed in range(self.seeds)
        ]

    def told(self, values: Sequence[Values]) -> Section:
        """Return the section."""
        rows, spread = [], []
        for at, (name, load) in enumerate((name, load) for name in _POLICIES for load in LOADS):
            part = values[at * self.seeds : (at + 1) * self.seeds]
            cells = [
                with_interval(mean([scale * one[field] for one in part]), digits)
                for field, _, scale, digits in _COLUMNS
            ]
            rows.append([name, f"{load:g}", *cells])
            if name == "production":
                spread.append(mean([one["replication"] for one in part]).value)
        agrees = spread[-1] > spread[0] + _MORE
        verdict = "**Agrees**" if agrees else "**Disagrees**"
        return Section(
            ["router", "requests/s", *(title for _, title, _, _ in _COLUMNS)],
            rows,
            [
                (
                    f"{verdict} with “under high load routing spreads requests across instances, under low load it concentrates them”: a session is served by {spread[0]:.2f} destinations at "
                    f"{LOADS[0]:g} requests/s and by {spread[-1]:.2f} at {LOADS[-1]:g}."
                )
            ],
            numbers={"replication": dict(zip(map(str, LOADS), spread, strict=True))},
        )


_MORE = 0.05
"""Destinations of a session more, that count as more."""
