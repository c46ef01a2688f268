"""Long random histories of one RoutingPlan: whatever happens, the plan in force stays sound and explained."""

from dataclasses import replace

import numpy as np
import pytest

from cacheroute.domain.decision import Outcome
from cacheroute.domain.fleet import Destination, DestinationState, Fleet, Pool
from cacheroute.domain.movement import served_by
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import MAX_CHANGES, Plan
from cacheroute.domain.plan_document import from_document, to_document
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.spec import Mode, Override, OverrideRoute, PlanningSpec, PlanSpec, PolicyName
from tests.domain.builders import observe, spec

STEPS, KEYS = 60, 80
NO_RATES = RatesUnavailable(RatesReason.TIMEOUT, "prometheus did not answer in time")


class History:
    """A world that changes at random; every draw comes from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.now, self.named = 1000.0, 0
        self.states: dict[str, DestinationState] = {}
        self.pools: dict[str, str] = {}
        self.rate = self.random.lognormal(0.0, 1.2, KEYS) * 0.05
        self.spec: PlanSpec = replace(
            spec(),
            pools=(Pool("small", 2.0, 12), Pool("large", 4.0, 20)),
            failover=replace(spec().failover, replacement_grace_seconds=150),
        )
        for _ in range(6):
            self.join()

    def join(self) -> None:
        self.named += 1
        self.pools[f"pod-{self.named:03d}"] = ("small", "large")[self.named % 2]
        self.states[f"pod-{self.named:03d}"] = DestinationState.READY

    def change(self) -> None:
        """Let something happen."""
        self.now += float(self.random.integers(1, 90))
        self.rate = self.rate * np.exp(0.3 * self.random.standard_normal(KEYS))
        self.rate *= min(1.0, 12.0 / self.rate.sum())
        event = self.random.integers(0, 12)
        names = sorted(self.states)
        if event in (0, 1) and len(names) > 2:
            self.states[str(self.random.choice(names))] = DestinationState.LOST
        elif event == 2 and len(names) > 2:
            del self.states[str(self.random.choice(names))]
        elif event in (3, 4):
            self.join()
        elif event == 5:
            self.states = dict.fromkeys(self.states, DestinationState.READY)
        elif event == 6:
            self.rate[self.random.integers(0, KEYS, 8)] = 0.0
        elif event == 7:
            self.spec = replace(self.spec, mode=list(Mode)[int(self.random.integers(0, 3))])
        elif event == 8:
            policy = list(PolicyName)[int(self.random.integers(0, 2))]
            self.spec = replace(self.spec, planning=PlanningSpec(policy=policy))
        elif event == 9:
            route = list(OverrideRoute)[int(self.random.integers(0, 2))]
            key = f"tenant-{self.random.integers(0, KEYS):03d}"
            self.spec = replace(self.spec, overrides=(Override(key, route),))

    def fleet(self) -> Fleet:
        return Fleet(
            tuple(
                Destination(name, "10.0.0.1", 8000, self.pools[name], state=state)
                for name, state in sorted(self.states.items())
            )
        )

    def rates(self) -> RatesOutcome:
        if self.random.random() < 0.1:
            return NO_RATES
        keys = tuple(f"tenant-{number:03d}" for number in range(KEYS))
        return Rates(keys=keys, values=self.rate, unkeyed=0.1, rejected=0.0, time=self.now)


@pytest.mark.parametrize("seed", range(12))
def test_the_plan_in_force_is_always_sound_and_explained(seed: int) -> None:
    history, plan = History(seed), None
    for _ in range(STEPS):
        history.change()
        event = Event.INTERVAL if history.random.random() < 0.7 else Event.CHANGED
        observation = observe(history.fleet(), history.rates(), plan, history.spec)
        decision = reconcile(history.now, observation, event)
        if decision.plan is not None:
            check(decision.plan, history.spec)
            if plan is not None and decision.outcome is not Outcome.INSTALLED:
                check_repair(plan, decision.plan, history.fleet())
        plan = decision.plan
    assert plan is not None


def check(plan: Plan, the_spec: PlanSpec) -> None:
    """What holds for every plan."""
    keys = [key for group in plan.groups for key in group.keys]
    filled = [seat.destination for seat in plan.seats if seat.destination]
    indices = {seat.index for seat in plan.seats}
    assert len(keys) == len(set(keys))
    assert len(filled) == len(set(filled))
    assert len(indices) == len(plan.seats)
    assert max(indices) < plan.next_seat
    for group in plan.groups:
        assert set(group.seats) <= indices
        assert set(group.standbys) <= indices - set(group.seats)
        assert len(group.moves) == len(group.keys)
    assert len(plan.changes) <= MAX_CHANGES
    if the_spec.mode is not Mode.HOLD and plan.summary.slots_used > plan.summary.slots_total:
        assert plan.summary.verdict.name == "NOTHING", "only repairs may take more slots than there are"
    again = from_document(to_document(plan))
    assert (again, again.revision, again.summary, again.basis) == (
        plan,
        plan.revision,
        plan.summary,
        plan.basis,
    )


def check_repair(before: Plan, after: Plan, fleet: Fleet) -> None:
    """Where no plan is installed a key moves only because a destination of its own went, or one came."""
    ready = {one.name for one in fleet.in_state(DestinationState.READY)}
    old, new = served_by(before), served_by(after)
    came = {name for names in new.values() for name in names} - {n for ns in old.values() for n in ns}
    came |= {seat.destination or "" for seat in after.seats} - {
        seat.destination or "" for seat in before.seats
    }
    vacant = {seat.index for seat in before.seats if seat.destination is None}
    waiting = {key for key, group in before.assignments() if vacant & {*group.seats}}
    assert old.keys() == new.keys()
    for key, names in new.items():
        if names != old[key]:
            assert key in waiting or old[key] - ready or names & came, key
