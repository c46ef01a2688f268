from pathlib import Path

import pytest

from cacheroute.controllers.counting import CountingReporter, CountingStore
from cacheroute.controllers.file_store import FilePlanStore
from cacheroute.domain.decision import Notice
from cacheroute.domain.errors import StoreError
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import Plan
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.spec import InvalidSpec, PlanRef
from cacheroute.domain.status import PlanStatus, refused_status
from cacheroute.prom.metrics import Metrics
from tests.domain.builders import fleet, observe, spec


class Refusing:
    """A store and a reporter that can do nothing."""

    async def load(self, ref: PlanRef) -> Plan | None:
        raise StoreError(f"no {ref}")

    async def save(self, ref: PlanRef, plan: Plan) -> None:
        raise StoreError(f"no {plan.version} of {ref}")

    async def write(self, ref: PlanRef, status: PlanStatus) -> None:
        raise StoreError(f"no {status} of {ref}")

    async def notify(self, ref: PlanRef, notice: Notice) -> None:
        raise StoreError(f"no {notice} of {ref}")


def a_plan() -> Plan:
    plan = reconcile(100.0, observe(fleet("a", "b")), Event.INTERVAL).plan
    assert plan is not None
    return plan


def errors(metrics: Metrics) -> list[str]:
    name = "cacheroute_operator_store_errors_total"
    return [line for line in metrics.exposition().decode().splitlines() if line.startswith(name)]


async def test_failures_are_counted_and_raised() -> None:
    metrics, ref = Metrics(), spec().ref
    store, reporter = CountingStore(Refusing(), metrics), CountingReporter(Refusing(), metrics)
    with pytest.raises(StoreError):
        await store.load(ref)
    for _ in range(2):
        with pytest.raises(StoreError):
            await store.save(ref, a_plan())
    with pytest.raises(StoreError):
        await reporter.write(ref, refused_status(InvalidSpec(1, "why")))
    name = "cacheroute_operator_store_errors_total"
    assert errors(metrics) == [
        f'{name}{{operation="load"}} 1.0',
        f'{name}{{operation="save"}} 2.0',
        f'{name}{{operation="status"}} 1.0',
    ]


async def test_what_works_passes_through(tmp_path: Path) -> None:
    metrics, plan = Metrics(), a_plan()
    store = CountingStore(FilePlanStore(tmp_path), metrics)
    await store.save(spec().ref, plan)
    assert await store.load(spec().ref) == plan
    assert errors(metrics) == []
