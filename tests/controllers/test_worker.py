"""The worker with ports that keep what they are given: real files for the store, plain values for the rest."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cacheroute.controllers.clock import Clock
from cacheroute.controllers.coordinator import Coordinator, Ports
from cacheroute.controllers.file_store import FilePlanStore, MemoryReporter
from cacheroute.domain.errors import StoreError
from cacheroute.domain.fleet import Fleet
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.movement import served_by
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import RatesOutcome
from cacheroute.domain.spec import InvalidSpec, PlanningSpec, PlanRef, PlanSpec
from cacheroute.domain.table import RoutingTable
from cacheroute.prom.metrics import Metrics
from tests.domain.builders import fleet, rates, spec, tenants


@dataclass
class Outside:
    """World, rates and publisher as values that a test sets and reads."""

    plans: dict[PlanRef, PlanSpec]
    now: Fleet
    measured: RatesOutcome = field(default_factory=lambda: rates(tenants(20)))
    published: list[tuple[str, tuple[RoutingTable, ...]]] = field(default_factory=list)
    asked: int = 0

    def specs(self) -> Mapping[PlanRef, PlanSpec]:
        return self.plans

    def invalid(self) -> Mapping[PlanRef, InvalidSpec]:
        return {}

    def fleet(self, _spec: PlanSpec) -> Fleet:
        return self.now

    async def fetch(self, _spec: PlanSpec, _proxies: int) -> RatesOutcome:
        self.asked += 1
        return self.measured

    def publish(self, gateway: str, tables: Sequence[RoutingTable]) -> str:
        entry = (gateway, tuple(tables))
        if not self.published or self.published[-1] != entry:
            self.published.append(entry)
        return "v"

    def gateways(self) -> frozenset[str]:
        return frozenset({"default"})

    def status(self, _gateway: str) -> GatewayStatus:
        return GatewayStatus(connected=1, synced=1)


class FullStore(FilePlanStore):
    """A store that takes nothing more."""

    async def save(self, ref: PlanRef, plan: Plan) -> None:
        raise StoreError(f"no space for {plan.version} of {ref}")


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


@dataclass
class Running:
    outside: Outside
    coordinator: Coordinator
    reporter: MemoryReporter

    def has_plan(self) -> bool:
        return self.coordinator.plan(spec().ref) is not None

    def plan(self) -> Plan:
        plan = self.coordinator.plan(spec().ref)
        assert plan is not None
        return plan

    def reason(self) -> str:
        return str(self.reporter.documents.get(spec().ref, {}).get("lastDecision", {}).get("reason", ""))


async def running(outside: Outside, store: FilePlanStore) -> tuple[Running, "asyncio.Task[None]"]:
    reporter = MemoryReporter(outside.specs)
    coordinator = Coordinator(Ports(outside, store, reporter, outside, outside, Metrics(), Clock()))
    return Running(outside, coordinator, reporter), asyncio.create_task(coordinator.run())


@pytest.fixture
def outside() -> Outside:
    return Outside({spec().ref: spec()}, fleet("a", "b", "c"))


async def stop(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_plan_is_stored_then_served(outside: Outside, tmp_path: Path) -> None:
    store = FilePlanStore(tmp_path)
    here, task = await running(outside, store)
    await until(here.has_plan)
    plan = here.plan()
    assert plan == await store.load(spec().ref)
    await until(lambda: outside.published[-1][1] and outside.published[-1][1][0].version == plan.version)
    await until(lambda: here.reason() == "FirstPlan")
    await stop(task)


async def test_a_restart_moves_no_key_although_the_rates_have_changed(
    outside: Outside, tmp_path: Path
) -> None:
    store = FilePlanStore(tmp_path)
    here, task = await running(outside, store)
    await until(here.has_plan)
    before = here.plan()
    await stop(task)
    outside.measured = rates({name: 1 / rate for name, rate in tenants(20).items()})
    outside.published.clear()
    outside.asked = 0
    again, task = await running(outside, store)
    await until(lambda: outside.asked and outside.published)
    await until(lambda: again.reporter.documents.get(spec().ref, {}).get("conditions"))
    assert again.plan() == before
    assert all(tables[0].version == before.version for _, tables in outside.published)
    await stop(task)


async def test_a_new_spec_is_planned_at_once(outside: Outside, tmp_path: Path) -> None:
    here, task = await running(outside, FilePlanStore(tmp_path))
    await until(here.has_plan)
    outside.measured = rates({"somebody": 1.0})
    outside.plans = {spec().ref: replace(spec(), generation=2, planning=PlanningSpec(interval_seconds=61))}
    here.coordinator.wake()
    await until(lambda: "somebody" in served_by(here.plan()))
    await stop(task)


async def test_a_lost_destination_is_repaired_and_stored(outside: Outside, tmp_path: Path) -> None:
    store = FilePlanStore(tmp_path)
    here, task = await running(outside, store)
    await until(here.has_plan)
    outside.now = fleet("a", "c")
    here.coordinator.wake()
    await until(lambda: here.reason() == "DestinationLost")
    repaired = here.plan()

    async def stored() -> bool:
        return await store.load(spec().ref) == repaired

    async with asyncio.timeout(10):
        while not await stored():
            await asyncio.sleep(0.01)
    assert {one.name for one in outside.published[-1][1][0].endpoints} == {"a", "c"}
    await stop(task)


async def test_a_plan_that_cannot_be_stored_is_not_served(outside: Outside, tmp_path: Path) -> None:
    here, task = await running(outside, FullStore(tmp_path))
    await until(lambda: here.reason() == "StoreUnavailable")
    assert not here.has_plan()
    assert all(not table.groups for _, tables in outside.published for table in tables)
    await stop(task)


async def test_a_deleted_plan_is_cold_until_its_streams_have_ended(outside: Outside, tmp_path: Path) -> None:
    short = replace(spec(), failover=replace(spec().failover, drain_seconds=1))
    outside.plans = {short.ref: short}
    here, task = await running(outside, FilePlanStore(tmp_path))
    await until(lambda: outside.published and outside.published[-1][1] and outside.published[-1][1][0].groups)
    outside.plans = {}
    here.coordinator.wake()
    await until(lambda: outside.published[-1][1] and not outside.published[-1][1][0].groups)
    await until(lambda: outside.published[-1][1] == ())
    await stop(task)


async def test_a_successor_has_its_models_at_once(outside: Outside, tmp_path: Path) -> None:
    here, task = await running(outside, FilePlanStore(tmp_path))
    await until(here.has_plan)
    outside.plans = {spec("successor").ref: spec("successor")}
    here.coordinator.wake()
    await until(lambda: [table.models for table in outside.published[-1][1]] == [(), ("llama",)])
    await stop(task)


async def test_a_gateway_without_plans_is_told_so(tmp_path: Path) -> None:
    nobody = Outside({}, fleet())
    here, task = await running(nobody, FilePlanStore(tmp_path))
    await until(lambda: nobody.published == [("default", ())])
    assert here.coordinator.ready
    await stop(task)
