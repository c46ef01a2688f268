"""Policies over a ladder of loads, on made-up traffic or on a trace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.cell import Cell, Outcome
from cacheroute.simulation.experiments.ladder import capacity, mean
from cacheroute.simulation.experiments.policies import named, with_policy
from cacheroute.simulation.experiments.traffic import Traffic
from cacheroute.simulation.fleet.figures import FleetFigures
from cacheroute.simulation.fleet.simulate import FleetSettings
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.paper.calibration import slowed
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.shadow.replay import model

LOADS = (30.0, 60.0, 100.0, 160.0, 240.0)
_WINDOW = 5


@dataclass(frozen=True, slots=True)
class Series:
    """What is simulated.

    Attributes:
        policies: names.
        loads: requests/s, ascending; empty: ``LOADS``, or a trace's own load.
        seeds: of traffic and policies.
        destinations: engines.
        engine: name of the model on its GPUs.
        kv_tokens: KV cache of an engine, None: that of the model.
        slowdown: factor on the time that a token takes.
        objective: limit on the 99th percentile of the time to the first token, seconds.
        capacity: requests/s of one destination, for the planner.
        warm: prefixes that one keeps warm.
        interval_seconds: between two plans.
    """

    policies: tuple[str, ...]
    loads: tuple[float, ...]
    seeds: tuple[int, ...]
    destinations: int
    engine: str
    kv_tokens: int | None
    slowdown: float
    objective: float
    capacity: float
    warm: int
    interval_seconds: float

    def __post_init__(self) -> None:
        for name in self.policies:
            named(name)
        model(self.engine)

    @property
    def tokens(self) -> int:
        """KV cache of an engine."""
        return self.kv_tokens or int(model(self.engine).kv_tokens)

    def cells(self, source: Traffic | Work) -> tuple["Series", list[Cell]]:
        """Return the series with its loads filled in, and its simulations by policy, seed and load.

        Raises:
            SimulationError: the trace has no length in time.
        """
        if isinstance(source, Traffic):
            full = replace(self, loads=self.loads or LOADS)
            return full, [
                full.cell(policy, replace(source, rate=load, seed=seed), seed, source.seconds)
                for policy in full.policies
                for seed in full.seeds
                for load in full.loads
            ]
        seconds = float(source.arrival[-1])
        if seconds <= 0:
            raise SimulationError("the trace has requests at one moment only; loads need time between them")
        rate = source.arrival.size / seconds
        full = replace(self, loads=self.loads or (rate,))
        return full, [
            full.cell(
                policy, source._replace(arrival=source.arrival * rate / load), seed, seconds * rate / load
            )
            for policy in full.policies
            for seed in full.seeds
            for load in full.loads
        ]

    def cell(self, policy: str, traffic: Traffic | Work, seed: int, seconds: float) -> Cell:
        """Return one simulation of ``seconds``; its first third is not judged."""
        fleet = FleetSettings(
            policy=Policy.FLAT,
            destinations=self.destinations,
            limits=EngineLimits(blocks=self.tokens // 16),
            costs=slowed(model(self.engine).costs, self.slowdown),
            seed=seed,
            objective=self.objective,
        )
        interval = self.interval_seconds
        plan = PlanSettings(Planner.STABLE, self.capacity, self.warm, interval, _WINDOW * interval)
        return Cell(traffic, with_policy(fleet, policy, plan), seconds / 3)

    def document(self, outcomes: Sequence[Outcome]) -> dict[str, object]:
        """Return what came out as plain JSON types."""
        width, height = len(self.loads), len(self.seeds)
        runs, capacities = [], []
        for n, policy in enumerate(self.policies):
            part = [one.figures for one in outcomes[n * width * height : (n + 1) * width * height]]
            by_seed = [part[start : start + width] for start in range(0, len(part), width)]
            runs += [
                {"policy": policy, "load": load, **_figures([run[at] for run in by_seed])}
                for at, load in enumerate(self.loads)
            ]
            found = capacity(self.loads, by_seed, self.objective)
            capacities.append(
                {
                    "policy": policy,
                    "mean": found.load.value,
                    "half_width": found.load.half_width,
                    "censored": found.censored.value,
                }
            )
        return {
            "objective_seconds": self.objective,
            "destinations": self.destinations,
            "engine": self.engine,
            "seeds": list(self.seeds),
            "runs": runs,
            "capacities": capacities,
        }


def _figures(runs: Sequence[FleetFigures]) -> dict[str, float]:
    return {
        "requests": mean([float(one.requests) for one in runs]).value,
        "hit_percent": mean([100.0 * one.token_hit for one in runs]).value,
        "ttft_p50_seconds": mean([one.ttft_p50 for one in runs]).value,
        "ttft_p99_seconds": mean([one.ttft_p99 for one in runs]).value,
        "imbalance": mean([one.imbalance for one in runs]).value,
        "worst_key_p99_seconds": mean([one.worst_key_p99 for one in runs]).value,
        "fairness": mean([one.fairness for one in runs]).value,
        "failed_percent": mean([100.0 * one.failed for one in runs]).value,
    }
