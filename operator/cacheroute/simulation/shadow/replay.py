"""What flat and planned routing make of the same requests on the same fleet."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.backends import backend
from cacheroute.simulation.experiments.ladder import MOST_FAILED, Mean, mean
from cacheroute.simulation.experiments.policies import with_policy
from cacheroute.simulation.experiments.sweep import Tell, Workers
from cacheroute.simulation.fleet.figures import FleetFigures, fleet_figures
from cacheroute.simulation.fleet.simulate import FleetSettings, simulate
from cacheroute.simulation.fleet.state import Done, Work
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.shadow.bootstrap import Interval, difference_of_hits, ratio_of_tails
from cacheroute.simulation.shadow.search import Found, fewest, most

WARMUP = 0.2
"""Share of the time in which caches fill: it is not judged."""
FLAT = "flat"
MOST_DESTINATIONS = 512
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        destinations: engines of the fleet.
        engine: name of the model on its GPUs, of ``SERVING_MODELS``.
        policy: name of the policy that flat routing is compared with.
        objective: limit on the 99th percentile of the time to the first token, seconds.
        capacity: requests/s of one destination, None: what one destination holds with flat routing.
        warm: prefixes that one destination keeps warm, None: half of its KV cache over the mean prompt.
        interval_seconds: between two plans.
        window_seconds: over which past rates are measured.
        kv_tokens: KV cache of an engine, None: that of the model.
        seeds: of the policies' random choices; each searches for its own capacity.
    """

    destinations: int
    engine: str
    policy: str = "stable"
    objective: float = 3.5
    capacity: float | None = None
    warm: int | None = None
    interval_seconds: float = 60.0
    window_seconds: float = 300.0
    kv_tokens: int | None = None
    seeds: int = 3

    @property
    def tokens(self) -> int:
        """KV cache of an engine."""
        return self.kv_tokens or model(self.engine).kv_tokens


@dataclass(frozen=True, slots=True)
class Side:
    """One policy.

    Attributes:
        figures: at the load of the trace.
        capacity: most load at which the objective holds, requests/s.
        capacities: that of each seed.
        censored: sign of the capacity where it lies beyond what was tried.
        destinations: fewest that hold the objective at the load of the trace.
        ttft: float64[N], of each judged request, seconds; infinite where it has none.
        cached: int64[N], of its prompt found in the cache.
    """

    figures: FleetFigures
    capacity: Mean
    capacities: tuple[float, ...]
    censored: str
    destinations: Found
    ttft: Floats
    cached: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a replay says."""

    question: Question
    plan: PlanSettings
    rate: float
    """Requests/s of the trace."""
    work: Work
    judged: NDArray[np.bool_]
    flat: Side
    planned: Side
    hit_gain: Interval
    """Planned minus flat, points."""
    tail_ratio: Interval
    """p99 of planned over flat."""


def model(name: str) -> Any:
    """Return the serving model with that name.

    Raises:
        SimulationError: there is none.
    """
    if name not in SERVING_MODELS:
        raise SimulationError(f"no engine is called {name!r}; there are {', '.join(SERVING_MODELS)}")
    return SERVING_MODELS[name]


def ask(question: Question, work: Work, workers: Workers, tell: Tell = lambda _done, _all: None) -> Answer:
    """Replay the requests.

    Raises:
        SimulationError: a setting is out of range, or the trace has no length in time.
    """
    seconds = float(work.arrival[-1]) if work.arrival.size else 0.0
    if seconds <= 0:
        raise SimulationError("the trace has requests at one moment only; a replay needs time between them")
    rate = work.arrival.size / seconds
    flat = _fleet(question, FLAT, None)
    steps = 2 * question.seeds + 2
    tell(0, steps)
    flats = _parallel(
        workers, [partial(_capacity, replace(flat, seed=seed), work) for seed in range(question.seeds)]
    )
    tell(question.seeds, steps)
    plan = _plan(question, work, rate * float(np.mean([found.value for found in flats])))
    planned = _fleet(question, question.policy, plan)
    rest = _parallel(
        workers,
        [
            *(partial(_capacity, replace(planned, seed=seed), work) for seed in range(question.seeds)),
            *(partial(_destinations, one, work) for one in (flat, planned)),
        ],
    )
    tell(steps, steps)
    judged = work.arrival >= WARMUP * seconds
    sides = (
        _side(flat, work, judged, [rate * found.value for found in flats], flats, rest[-2]),
        _side(planned, work, judged, [rate * one.value for one in rest[:-2]], rest[:-2], rest[-1]),
    )
    prompt = work.prompt[judged]
    return Answer(
        question=question,
        plan=plan,
        rate=rate,
        work=work,
        judged=judged,
        flat=sides[0],
        planned=sides[1],
        hit_gain=difference_of_hits(prompt, sides[0].cached, sides[1].cached),
        tail_ratio=ratio_of_tails(sides[0].ttft, sides[1].ttft),
    )


def _fleet(question: Question, policy: str, plan: PlanSettings | None) -> FleetSettings:
    serving = model(question.engine)
    made = FleetSettings(
        policy=Policy.FLAT,
        destinations=question.destinations,
        limits=EngineLimits(blocks=question.tokens // 16),
        costs=serving.costs,
        objective=question.objective,
    )
    return made if plan is None else with_policy(made, policy, plan)


def _plan(question: Question, work: Work, flat_capacity: float) -> PlanSettings:
    return PlanSettings(
        Planner.STABLE,
        question.capacity or flat_capacity / question.destinations,
        question.warm
        if question.warm is not None
        else max(1, int(question.tokens / 2 / float(work.prompt.mean()))),
        question.interval_seconds,
        max(question.window_seconds, question.interval_seconds),
    )


def _parallel(workers: Workers, calls: list[Callable[[], Found]]) -> list[Found]:
    if workers.jobs == 1:
        return [call() for call in calls]
    with backend(workers.backend, workers.jobs, workers.cluster):
        found: list[Found] = joblib.Parallel()(joblib.delayed(call)() for call in calls)
    return found


def _capacity(fleet: FleetSettings, work: Work) -> Found:
    return most(lambda speed: _holds(_at(fleet, speed), _faster(work, speed)))


def _destinations(fleet: FleetSettings, work: Work) -> Found:
    return fewest(
        lambda size: _holds(replace(fleet, destinations=size), work), fleet.destinations, MOST_DESTINATIONS
    )


def _at(fleet: FleetSettings, speed: float) -> FleetSettings:
    """Return the fleet with a plan as often, in requests, as at the speed of the trace."""
    if fleet.plan is None:
        return fleet
    interval, window = fleet.plan.interval_seconds / speed, fleet.plan.window_seconds / speed
    return replace(fleet, plan=replace(fleet.plan, interval_seconds=interval, window_seconds=window))


def _faster(work: Work, speed: float) -> Work:
    return work._replace(arrival=work.arrival / speed)


def _holds(fleet: FleetSettings, work: Work) -> bool:
    figures = fleet_figures(work, simulate(work, fleet), fleet.destinations, WARMUP * float(work.arrival[-1]))
    return figures.ttft_p99 <= fleet.objective and figures.failed <= MOST_FAILED


def _side(
    fleet: FleetSettings,
    work: Work,
    judged: NDArray[np.bool_],
    capacities: list[float],
    found: list[Found],
    destinations: Found,
) -> Side:
    done: Done = simulate(work, fleet)
    waits = np.where(np.isnan(done.first_token), np.inf, done.first_token - work.arrival)
    signs = {one.censored for one in found if one.censored}
    return Side(
        figures=fleet_figures(work, done, fleet.destinations, WARMUP * float(work.arrival[-1])),
        capacity=mean(capacities),
        capacities=tuple(capacities),
        censored=signs.pop() if len(signs) == 1 else "",
        destinations=destinations,
        ttft=waits[judged],
        cached=done.cached[judged],
    )
