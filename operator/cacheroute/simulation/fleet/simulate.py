"""Simulate a workload on a fleet by one policy, with plans made from the past and destinations that come and go."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import RequestOverheads, StepCosts
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.kernel import advance, run
from cacheroute.simulation.fleet.loss import Loss, join, lose
from cacheroute.simulation.fleet.state import Done, State, Work, state, timing
from cacheroute.simulation.routing.planner import Plans, PlanSettings
from cacheroute.simulation.routing.rates import past_rates
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.routing.view import Costs, Memory, View, memory, view
from cacheroute.simulation.struct import pointer


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """One simulation.

    Attributes:
        policy: who routes.
        destinations: how many engines, >= 1.
        limits: sizes of an engine.
        costs: durations of its steps.
        overheads: time of the server around the engine.
        seed: of the policy's random choices.
        objective: limit on the time to the first token that policies aim at, seconds.
        plan: how plans are made; only for Policy.PLANNED, which needs it.
        losses: which destinations go and come, in order of time.
    """

    policy: Policy
    destinations: int
    limits: EngineLimits
    costs: StepCosts
    overheads: RequestOverheads = RequestOverheads()
    seed: int = 0
    objective: float = 3.5
    plan: PlanSettings | None = None
    losses: tuple[Loss, ...] = ()


class _Kind(IntEnum):
    PLAN = 0
    DRAINED = 1
    LOST = 2
    JOINED = 3


@dataclass(frozen=True, slots=True, order=True)
class _Event:
    time: float
    kind: _Kind
    destination: int = 0


def simulate(work: Work, settings: FleetSettings, before: NDArray[np.float64] | None = None) -> Done:
    """Return what became of each request once all are answered; equal arguments give equal results to the bit.

    Args:
        work: the requests.
        settings: the fleet and who routes.
        before: float64[K], rates measured before the first request, requests/s: with them there is a plan from the
            start. Without, requests are routed as cold ones until the first interval is over.

    Raises:
        SimulationError: a setting is out of range, or a request does not fit into an engine.
    """
    _check(work, settings)
    keys = max(int(work.key.max()) + 1 if work.key.size else 0, before.size if before is not None else 0)
    fleet = view(np.full(settings.destinations, settings.limits.tokens, dtype=np.int64))
    made = state(work, settings.destinations, settings.limits, timing(settings.costs, settings.overheads))
    known = memory(settings.destinations, keys, settings.seed, _costs(settings))
    plans = Plans(settings.plan, settings.destinations) if settings.plan else None
    if plans is not None and before is not None:
        known = plans.replan(known, before, fleet.up)
    begin = 0
    for event in _events(work, settings):
        end = int(np.searchsorted(work.arrival, event.time))
        _run(settings.policy, known, fleet, made, (begin, end))
        advance(pointer(made), pointer(fleet), event.time)
        begin = end
        if event.kind is _Kind.PLAN and plans is not None and settings.plan is not None:
            rates = past_rates(work.arrival, work.key, event.time, settings.plan.window_seconds, keys)
            known = plans.replan(known, rates, fleet.up)
        elif event.kind is _Kind.DRAINED:
            fleet.up[event.destination] = False
        elif event.kind is _Kind.LOST:
            lose(settings.policy, known, fleet, made, event.destination, event.time)
        elif event.kind is _Kind.JOINED:
            join(fleet, made, event.destination)
    _run(settings.policy, known, fleet, made, (begin, work.arrival.size))
    advance(pointer(made), pointer(fleet), np.finfo(np.float64).max)
    return made.done


def _run(policy: Policy, known: Memory, fleet: View, made: State, part: tuple[int, int]) -> None:
    run(policy.value, pointer(known), pointer(fleet), pointer(made), *part)


def _check(work: Work, settings: FleetSettings) -> None:
    if settings.destinations < 1:
        raise SimulationError("fleet: there must be at least one destination")
    if (settings.policy is Policy.PLANNED) != (settings.plan is not None):
        raise SimulationError("fleet: policy planned, and no other, needs to know how plans are made")
    size = work.prompt + work.output
    if work.arrival.size and int(size.max()) > settings.limits.tokens:
        raise SimulationError(
            f"request {int(size.argmax())} has {int(size.max())} tokens; the KV cache of an engine "
            f"holds {settings.limits.tokens}"
        )


def _costs(settings: FleetSettings) -> Costs:
    """Tell policies the marginal cost of a token, in seconds."""
    costs = settings.costs
    prompt = (costs.per_token + costs.extra_per_token) / 1000.0
    return Costs(prompt, prompt + costs.per_decode / 1000.0, settings.objective)


def _events(work: Work, settings: FleetSettings) -> Iterator[_Event]:
    """Yield plans and losses in order of time, as long as requests arrive."""
    last = float(work.arrival[-1]) if work.arrival.size else 0.0
    events = []
    if settings.plan is not None:
        interval = settings.plan.interval_seconds
        events += [_Event(n * interval, _Kind.PLAN) for n in range(1, int(last / interval) + 1)]
    for loss in settings.losses:
        events.append(_Event(loss.time - loss.notice, _Kind.DRAINED, loss.destination))
        events.append(_Event(loss.time, _Kind.LOST, loss.destination))
        events.append(_Event(loss.time + loss.seconds, _Kind.JOINED, loss.destination))
    yield from sorted(event for event in events if event.time <= last)
