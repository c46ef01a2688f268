"""All policies on one published trace: the load that each holds, and hit and tails at the load that flat routing holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.contest.knee import Asked, knees
from cacheroute.simulation.contest.standing import FLAT, Figures
from cacheroute.simulation.contest.traffic import CONTEXT, Source
from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS
from cacheroute.simulation.experiments.cell import Cell, Outcome
from cacheroute.simulation.experiments.policies import with_policy
from cacheroute.simulation.fleet.simulate import FleetSettings
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.shadow.diagnosis import counted, diagnoses

ENGINE, DESTINATIONS, KV_TOKENS = "70b-fp8", 8, 641_136
OBJECTIVES = ((4096, 3.5), (32_768, 30.0), (CONTEXT, 60.0))
"""Prompt tokens in the mean up to which a limit counts, and the limit in seconds. 30 s is what Mooncake's authors set; one prompt
that fills the context and is found nowhere takes an idle engine 35 s."""
WARMUP = 0.2
"""Share of the time that is not judged."""
INTERVAL, WINDOW = 60.0, 300.0
"""Seconds between two plans, and over which rates are measured, at the trace's own speed."""
Simulate = Callable[[Sequence[Cell]], Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class Result:
    """What came out.

    Attributes:
        source: the requests.
        objective: limit on the 99th percentile of the time to the first token, seconds.
        load: at which hits and tails are told, requests/s.
        figures: by policy.
        said: number of judged intervals as "intervals", and in how many of them each warning was given.
    """

    source: Source
    objective: float
    load: float
    figures: dict[str, Figures]
    said: dict[str, int]


def objective(source: Source) -> float:
    """Return the limit that suits the lengths of the prompts, seconds."""
    length = float(source.work.prompt.mean())
    return next(limit for tokens, limit in OBJECTIVES if length <= tokens)


def contest(source: Source, policies: Sequence[str], simulate: Simulate) -> Result:
    """Find what every policy holds.

    Args:
        source: the requests.
        policies: names, flat routing among them.
        simulate: returns what cells give, in their order.
    """
    limit = objective(source)

    def run(asked: Sequence[Asked], plan: PlanSettings) -> Sequence[Outcome]:
        return simulate([cell(source, policy, factor, plan) for policy, factor in asked])

    flat = knees((FLAT,), lambda asked: run(asked, plan_for(source, source.rate)), limit)
    common = flat[FLAT][0]
    plan = plan_for(source, common * source.rate)
    others = [policy for policy in policies if policy != FLAT]
    found = flat | knees(others, lambda asked: run(asked, plan), limit)
    there = dict(zip(policies, run([(policy, common) for policy in policies], plan), strict=True))
    said = diagnoses(source.work, plan, DESTINATIONS, named=source.named)
    return Result(
        source=source,
        objective=limit,
        load=common * source.rate,
        figures={policy: _figures(there[policy], found[policy], source.rate) for policy in policies},
        said=counted(said, WARMUP * float(source.work.arrival[-1])),
    )


def plan_for(source: Source, flat_capacity: float) -> PlanSettings:
    """Return how plans are made at the trace's own speed: as `cacheroute replay` does where it is told nothing."""
    warm = max(1, int(KV_TOKENS / 2 / float(source.work.prompt.mean())))
    return PlanSettings(Planner.STABLE, flat_capacity / DESTINATIONS, warm, INTERVAL, WINDOW)


def cell(source: Source, policy: str, factor: float, plan: PlanSettings) -> Cell:
    """Return one simulation, with the trace played ``factor`` times as fast, and plans as often in requests."""
    fleet = FleetSettings(
        policy=Policy.FLAT,
        destinations=DESTINATIONS,
        limits=EngineLimits(blocks=KV_TOKENS // 16),
        costs=SERVING_MODELS[ENGINE].costs,
        objective=objective(source),
    )
    often = replace(plan, interval_seconds=INTERVAL / factor, window_seconds=WINDOW / factor)
    work = source.work._replace(arrival=source.work.arrival / factor)
    return Cell(work, with_policy(fleet, policy, often), WARMUP * float(work.arrival[-1]))


def _figures(outcome: Outcome, knee: tuple[float, str], rate: float) -> Figures:
    found = outcome.figures
    return Figures(knee[0] * rate, 100.0 * found.token_hit, found.ttft_p99, found.worst_key_p99, knee[1])
