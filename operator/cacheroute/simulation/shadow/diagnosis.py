"""What the operator would have said of a simulated fleet's traffic, interval by interval, each time from the past only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.planning.hindsight import Caution, Hindsight, look_back
from cacheroute.planning.regime import Worth
from cacheroute.planning.stable import plan_stable
from cacheroute.planning.types import NOTHING, Demand, Fleet, Plan
from cacheroute.simulation.experiments.traffic import BEFORE_SECONDS
from cacheroute.simulation.fleet.loss import Loss
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.routing.planner import PlanSettings


@dataclass(frozen=True, slots=True)
class Said:
    """The diagnosis at the end of one interval.

    Attributes:
        time: when, seconds of the trace's clock.
        hindsight: what the rates of the window made of the plan that was in force.
        worth: whether the new plan is worth it against flat routing.
    """

    time: float
    hindsight: Hindsight
    worth: Worth

    @property
    def warnings(self) -> tuple[str, ...]:
        """Words of the diagnosis that warn, none where all is well."""
        against_flat = () if self.worth in {Worth.WORTH_IT, Worth.UNKNOWN} else (self.worth.value,)
        return (*against_flat, *self.hindsight.cautions)


def diagnoses(
    work: Work,
    settings: PlanSettings,
    destinations: int,
    *,
    before: NDArray[np.float64] | None = None,
    losses: Sequence[Loss] = (),
    named: int | None = None,
) -> list[Said]:
    """Plan by ``Stable`` as the simulation does, without serving anything, and say what the operator would.

    Args:
        work: the requests.
        settings: how plans are made; the planner is Stable whatever they say.
        destinations: how many engines.
        before: float64[K], rates measured before the first request, None for none.
        losses: which destinations go and come.
        named: how many of the first keys are keys; requests of further ones have none. None for all.
    """
    keys = max(int(work.key.max()) + 1, 0 if before is None else before.size)
    named = keys if named is None else named
    whole = Fleet(
        np.full(destinations, settings.capacity), np.full(destinations, settings.warm, dtype=np.int64)
    )
    said, plan = [], None
    if before is not None:
        plan = plan_stable(Demand(before), whole, None)
        said.append(_said(0.0, (plan, plan), Demand(before), whole, BEFORE_SECONDS))
    interval, window = settings.interval_seconds, settings.window_seconds
    for n in range(1, int(float(work.arrival[-1]) / interval) + 1):
        now = n * interval
        begin, end = np.searchsorted(work.arrival, (now - window, now))
        seconds = min(window, now)
        rates = np.bincount(work.key[begin:end], minlength=keys) / seconds
        demand = Demand(rates[:named], unkeyed=float(rates[named:].sum()))
        fleet = Fleet(whole.capacity, whole.warm_slots, present=_present(destinations, losses, now))
        made = plan_stable(demand, fleet, plan or NOTHING)
        said.append(_said(now, (plan or made, made), demand, fleet, seconds))
        plan = made
    return said


def _said(now: float, plans: tuple[Plan, Plan], demand: Demand, fleet: Fleet, seconds: float) -> Said:
    in_force, made = plans
    return Said(now, look_back(in_force, demand, fleet, seconds), made.report.regime.worth)


def _present(destinations: int, losses: Sequence[Loss], now: float) -> NDArray[np.bool_]:
    present = np.ones(destinations, dtype=np.bool_)
    for loss in losses:
        if loss.time - loss.notice <= now < loss.time + loss.seconds:
            present[loss.destination] = False
    return present


def counted(said: Sequence[Said], warmup: float) -> dict[str, int]:
    """Return in how many of the intervals that end after the warm-up each warning was given, and all as "intervals"."""
    judged = [one for one in said if one.time > warmup]
    names = (*(one.value for one in Caution), *(one.value for one in Worth))
    found = {name: sum(name in one.warnings for one in judged) for name in names}
    return {"intervals": len(judged), **{name: times for name, times in found.items() if times}}


def told(said: Mapping[str, int]) -> str:
    """Return what ``counted`` counted in words."""
    whole = said["intervals"]
    words = [f"{name} in {times}" for name, times in said.items() if name != "intervals"]
    return f"{', '.join(words)} of {whole} intervals" if words else f"quiet in all {whole} intervals"
