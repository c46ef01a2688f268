"""A store and a reporter that count what they could not do; the error itself goes on to the caller."""

from collections.abc import Iterator
from contextlib import contextmanager

from cacheroute.controllers.ports import Observer, PlanStore, Reporter
from cacheroute.domain.decision import Notice
from cacheroute.domain.errors import StoreError
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.status import PlanStatus


@contextmanager
def _counted(observer: Observer, operation: str) -> Iterator[None]:
    try:
        yield
    except StoreError:
        observer.store_failed(operation)
        raise


class CountingStore:
    """Implements ``PlanStore``."""

    def __init__(self, store: PlanStore, observer: Observer) -> None:
        self._store, self._observer = store, observer

    async def load(self, ref: PlanRef) -> Plan | None:
        """Return the stored plan, None where there is none; raises StoreError where it cannot be read."""
        with _counted(self._observer, "load"):
            return await self._store.load(ref)

    async def save(self, ref: PlanRef, plan: Plan) -> None:
        """Store the plan; raises StoreError."""
        with _counted(self._observer, "save"):
            await self._store.save(ref, plan)


class CountingReporter:
    """Implements ``Reporter``."""

    def __init__(self, reporter: Reporter, observer: Observer) -> None:
        self._reporter, self._observer = reporter, observer

    async def write(self, ref: PlanRef, status: PlanStatus) -> None:
        """Report the status; raises StoreError where it cannot be written."""
        with _counted(self._observer, "status"):
            await self._reporter.write(ref, status)

    async def notify(self, ref: PlanRef, notice: Notice) -> None:
        """Tell something once; raises StoreError where it cannot be written."""
        with _counted(self._observer, "notice"):
            await self._reporter.notify(ref, notice)
