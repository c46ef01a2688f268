"""Carries one RoutingPlan: asks for rates each interval, takes the pure step, stores what it decides."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from cacheroute.controllers.clock import Clock
from cacheroute.controllers.debounce import Debounce
from cacheroute.controllers.outbox import Outbox
from cacheroute.controllers.ports import Observer, PlanStore, Publisher, RatesSource, World
from cacheroute.controllers.saver import Saver
from cacheroute.domain.claims import Claim
from cacheroute.domain.decision import Decision, Outcome
from cacheroute.domain.errors import StoreError
from cacheroute.domain.observation import Event, Observation
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.reconcile import held, reconcile
from cacheroute.domain.spec import PlanRef, PlanSpec
from cacheroute.domain.status import LastDecision, plan_status
from cacheroute.domain.table import RoutingTable, routing_table

_log = structlog.get_logger(__name__)
_FIRST_RATES_SECONDS = 5.0
_NOT_ASKED = RatesUnavailable(RatesReason.NOT_ASKED, "rates have not been asked for yet")


@dataclass(frozen=True, slots=True)
class Services:
    """What every worker uses."""

    world: World
    store: PlanStore
    rates: RatesSource
    publisher: Publisher
    outbox: Outbox
    observer: Observer
    clock: Clock
    publish: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker works on now: the spec that is served, its claim, and why a newer one is not."""

    spec: PlanSpec
    claim: Claim
    invalid: str | None = None


class Worker:
    """The only place that holds the state of one RoutingPlan; every decision of it is taken here, one at a time."""

    def __init__(self, ref: PlanRef, assignment: Assignment, services: Services) -> None:
        self.ref = ref
        self.table: RoutingTable | None = None
        self.plan: Plan | None = None
        self._assignment = assignment
        self._services = services
        self._rates: RatesOutcome = _NOT_ASKED
        self._last: LastDecision | None = None
        self._interval_due = False
        self._saver = Saver(ref, services.store)
        self._changed = Debounce()
        self._hurry = asyncio.Event()

    @property
    def spec(self) -> PlanSpec:
        """The spec that is served."""
        return self._assignment.spec

    @property
    def accepted(self) -> bool:
        """Whether the plan may serve its models."""
        return self._assignment.claim.accepted

    def assign(self, assignment: Assignment) -> None:
        """Take a new spec or claim; a new spec is planned at once."""
        if assignment == self._assignment:
            return
        if assignment.spec != self._assignment.spec:
            self._hurry.set()
        self._assignment = assignment
        self.poke()

    def poke(self) -> None:
        """Say that something observed changed."""
        self._changed.set()

    async def run(self) -> None:
        """Work until cancelled."""
        self.plan = await self._saver.load()
        self._take(self._decide(Event.CHANGED, self._observe()))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._saver.run())
            tasks.create_task(self._measure())
            tasks.create_task(self._steps())

    async def _measure(self) -> None:
        """Ask for rates each control interval; the answer makes a plan due.

        A plan that was read from the store is left alone for the first interval: a restart moves no key.
        """
        clock = self._services.clock
        restarted = self.plan is not None
        while True:
            started = clock.monotonic()
            proxies = self._services.publisher.status(self.spec.gateway).connected
            self._rates = await self._services.rates.fetch(self.spec, proxies)
            self._services.observer.measured(self.ref, self._rates)
            self._interval_due = not restarted
            restarted = False
            self.poke()
            await self._until(started + self._pause())

    def _pause(self) -> float:
        """Return the seconds between two measurements: shorter while the first plan waits for rates."""
        interval = float(self.spec.planning.interval_seconds)
        waiting = self.plan is None and not isinstance(self._rates, Rates)
        return min(interval, _FIRST_RATES_SECONDS) if waiting else interval

    async def _until(self, deadline: float) -> None:
        """Sleep until the monotonic ``deadline``, or until a new spec is in a hurry."""
        try:
            async with asyncio.timeout(max(0.0, deadline - self._services.clock.monotonic())):
                await self._hurry.wait()
        except TimeoutError:
            return
        self._hurry.clear()

    async def _steps(self) -> None:
        while True:
            await self._changed.wait()
            await self._step()

    async def _step(self) -> None:
        if not self._interval_due:
            self._take(self._decide(Event.CHANGED, self._observe()))
            return
        self._interval_due = False
        decision = await asyncio.to_thread(self._decide, Event.INTERVAL, self._observe())
        self._take(await self._stored(decision))

    def _decide(self, event: Event, observation: Observation) -> Decision:
        clock, observer = self._services.clock, self._services.observer
        started = clock.monotonic()
        decision = reconcile(clock.wall(), observation, event)
        observer.reconciled(event, clock.monotonic() - started)
        return decision

    async def _stored(self, decision: Decision) -> Decision:
        """Store a new plan before it is served, so that a restart never goes back; hold where that fails."""
        if decision.outcome is not Outcome.INSTALLED or decision.plan is None:
            return decision
        try:
            await self._saver.save(decision.plan)
        except StoreError as error:
            return held(decision, self.plan, str(error))
        return decision

    def _take(self, decision: Decision) -> None:
        """Make a decision the state, serve it and report it."""
        services, spec = self._services, self.spec
        self.plan = decision.plan
        services.observer.decided(self.ref, decision)
        self._remember(decision)
        fleet = services.world.fleet(spec)
        self.table = routing_table(spec, self.plan, fleet)
        services.publish()
        if self.plan is not None:
            self._saver.later(self.plan)
        status = plan_status(
            spec, fleet, services.publisher.status(spec.gateway), decision, (self._last, self._rates)
        )
        services.outbox.put(self.ref, status, decision.notices)

    def _remember(self, decision: Decision) -> None:
        last = self._last
        if decision.outcome is Outcome.UNCHANGED and last is not None and last.outcome is not Outcome.HELD:
            return
        if last is not None and (last.outcome, last.reason) == (Outcome.HELD, decision.reason):
            return
        now = self._services.clock.wall()
        self._last = LastDecision(now, decision.outcome, decision.reason, decision.message, decision.moved)
        if decision.outcome is not Outcome.UNCHANGED:
            log = _log.warning if any(notice.warning for notice in decision.notices) else _log.info
            log(
                "plan " + decision.outcome.lower(),
                plan=str(self.ref),
                reason=decision.reason,
                message=decision.message,
                moved_keys=decision.moved.keys,
            )

    def _observe(self) -> Observation:
        """Take the snapshot that a step decides on, in the loop's thread: the world may change while a plan is made."""
        services, assignment = self._services, self._assignment
        return Observation(
            spec=assignment.spec,
            claim=assignment.claim,
            invalid=assignment.invalid,
            fleet=services.world.fleet(assignment.spec),
            rates=self._rates,
            plan=self.plan,
            gateways=services.publisher.status(assignment.spec.gateway),
            last=self._last,
        )
