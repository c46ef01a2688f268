"""One worker for each RoutingPlan, and one snapshot for each gateway."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass

import structlog

from cacheroute.controllers.clock import Clock
from cacheroute.controllers.debounce import Debounce
from cacheroute.controllers.outbox import Outbox
from cacheroute.controllers.ports import Observer, PlanStore, Publisher, RatesSource, Reporter, World
from cacheroute.controllers.worker import Assignment, Services, Worker
from cacheroute.domain.claims import resolve_claims
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.status import refused_status
from cacheroute.domain.table import RoutingTable, farewell_table

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside, as the coordinator is given it."""

    world: World
    store: PlanStore
    reporter: Reporter
    rates: RatesSource
    publisher: Publisher
    observer: Observer
    clock: Clock = Clock()


@dataclass(slots=True)
class _Carried:
    worker: Worker
    task: asyncio.Task[None]


@dataclass(frozen=True, slots=True)
class _Farewell:
    """A deleted plan whose keys are served cold until its streams have ended."""

    table: RoutingTable
    gateway: str
    until: float


class Coordinator:
    """Starts and ends workers as RoutingPlans come and go, and publishes what they decided together."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._changed = Debounce()
        self._outbox = Outbox(ports.reporter)
        self._carried: dict[PlanRef, _Carried] = {}
        self._farewells: dict[PlanRef, _Farewell] = {}
        self._gateways: set[str] = set()
        self._complete = False
        self._alive = True

    @property
    def alive(self) -> bool:
        """Whether the loop turns."""
        return self._alive

    @property
    def ready(self) -> bool:
        """Whether every gateway has been given a complete snapshot."""
        return self._complete

    def plan(self, ref: PlanRef) -> Plan | None:
        """Return the plan in force of a RoutingPlan, None where there is none."""
        carried = self._carried.get(ref)
        return carried.worker.plan if carried else None

    def wake(self) -> None:
        """Say that something observed changed; call it in the loop's thread."""
        self._changed.set()

    async def run(self) -> None:
        """Coordinate until cancelled; the world must be complete before this is called."""
        outbox = asyncio.create_task(self._outbox.run())
        try:
            self._match()
            while True:
                await self._wait()
                self._match()
        finally:
            self._alive = False
            outbox.cancel()
            for carried in self._carried.values():
                carried.task.cancel()
            tasks = [outbox, *(carried.task for carried in self._carried.values())]
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self) -> None:
        """Wait for a change, or for the end of the next farewell."""
        ends = [farewell.until for farewell in self._farewells.values()]
        timeout = max(0.0, min(ends) - self._ports.clock.monotonic()) if ends else None
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return

    def _match(self) -> None:
        """Bring the workers in line with the RoutingPlans that are observed."""
        specs, invalid = self._ports.world.specs(), self._ports.world.invalid()
        claims = resolve_claims(specs.values())
        for ref in [ref for ref in self._carried if ref not in specs]:
            self._retire(ref)
        for ref, spec in specs.items():
            complaint = invalid[ref].message if ref in invalid else None
            self._assign(ref, Assignment(spec, claims[ref], complaint))
        for ref in [ref for ref in invalid if ref not in specs]:
            self._outbox.put(ref, refused_status(invalid[ref]), ())
        self._publish()

    def _assign(self, ref: PlanRef, assignment: Assignment) -> None:
        if ref not in self._carried:
            worker = Worker(ref, assignment, self._services())
            self._carried[ref] = _Carried(worker, asyncio.create_task(worker.run(), name=f"plan {ref}"))
            self._carried[ref].task.add_done_callback(self._ended)
            self._farewells.pop(ref, None)
        carried = self._carried[ref]
        carried.worker.assign(assignment)
        carried.worker.poke()

    def _services(self) -> Services:
        ports = self._ports
        return Services(
            world=ports.world,
            store=ports.store,
            rates=ports.rates,
            publisher=ports.publisher,
            outbox=self._outbox,
            observer=ports.observer,
            clock=ports.clock,
            publish=self._publish,
        )

    def _retire(self, ref: PlanRef) -> None:
        carried = self._carried.pop(ref)
        carried.task.cancel()
        self._outbox.forget(ref)
        self._ports.observer.forgotten(ref)
        worker = carried.worker
        if worker.table is not None and worker.accepted:
            until = self._ports.clock.monotonic() + worker.spec.failover.drain_seconds
            self._farewells[ref] = _Farewell(worker.table, worker.spec.gateway, until)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A worker that fails is a defect: say so and start it afresh from the store."""
        if task.cancelled() or task.exception() is None:
            return
        _log.error("worker failed, starting it again", worker=task.get_name(), exc_info=task.exception())
        self._carried = {ref: one for ref, one in self._carried.items() if one.task is not task}
        asyncio.get_running_loop().call_later(1.0, self.wake)

    def _publish(self) -> None:
        """Give every gateway all its tables; only when every accepted plan has one, so that nothing goes missing."""
        now = self._ports.clock.monotonic()
        self._farewells = {ref: one for ref, one in self._farewells.items() if one.until > now}
        workers = [one.worker for one in self._carried.values() if one.worker.accepted]
        if any(worker.table is None for worker in workers):
            return
        tables: dict[str, list[RoutingTable]] = defaultdict(list)
        for worker in workers:
            if worker.table is not None:
                tables[worker.spec.gateway].append(worker.table)
        for farewell in self._farewells.values():
            living = tables[farewell.gateway]
            living.append(farewell_table(farewell.table, living))
        self._serve(tables)

    def _serve(self, tables: dict[str, list[RoutingTable]]) -> None:
        """A gateway whose plans are all gone, or that never had one, is told so: its proxies answer 404."""
        self._gateways |= tables.keys() | self._ports.publisher.gateways()
        for gateway in sorted(self._gateways):
            served = sorted(tables.get(gateway, []), key=lambda one: one.ref)
            version = self._ports.publisher.publish(gateway, served)
            self._ports.observer.published(gateway, version)
            self._ports.observer.gateway(gateway, self._ports.publisher.status(gateway))
        self._complete = True
