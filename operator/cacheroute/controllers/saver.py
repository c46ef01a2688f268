"""Keeps the stored plan equal to the plan in force."""

import asyncio

import structlog

from cacheroute.controllers.ports import PlanStore
from cacheroute.domain.errors import PlanFormatError, StoreError
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef

RETRY_SECONDS = 2.0
TIMEOUT_SECONDS = 10.0

_log = structlog.get_logger(__name__)


class Saver:
    """Stores the plans of one RoutingPlan, the newest last, never two at once."""

    def __init__(self, ref: PlanRef, store: PlanStore) -> None:
        self._ref, self._store = ref, store
        self._wanted: Plan | None = None
        self._stored: str | None = None
        self._busy = asyncio.Lock()
        self._work = asyncio.Event()

    async def load(self) -> Plan | None:
        """Read the plan in force; retries until the store answers, so that nothing is planned in ignorance."""
        while True:
            try:
                plan = await self._store.load(self._ref)
            except PlanFormatError as error:
                _log.error(
                    "stored plan is unreadable, starting without", plan=str(self._ref), error=str(error)
                )
                return None
            except StoreError as error:
                _log.warning("stored plan not read, will retry", plan=str(self._ref), error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self._stored = plan.revision if plan else None
            return plan

    async def save(self, plan: Plan) -> None:
        """Store a plan before it is served; one that was to be stored later is older and forgotten.

        Raises:
            StoreError: it is not stored; the former plan still is.
        """
        self._wanted = None
        await self._save(plan)

    async def _save(self, plan: Plan) -> None:
        async with self._busy:
            if plan.revision == self._stored:
                return
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    await self._store.save(self._ref, plan)
            except TimeoutError as error:
                raise StoreError(f"storing plan {plan.version} took over {TIMEOUT_SECONDS:.0f} s") from error
            self._stored = plan.revision

    def later(self, plan: Plan) -> None:
        """Store a plan that is served already (a repair, which a restarted operator would make again)."""
        if plan.revision != self._stored:
            self._wanted = plan
            self._work.set()

    async def run(self) -> None:
        """Store what was asked for later, until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            if self._wanted is not None and not await self._try(self._wanted) and self._wanted is not None:
                self._work.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _try(self, plan: Plan) -> bool:
        try:
            await self._save(plan)
        except StoreError as error:
            _log.warning("repaired plan not stored, will retry", plan=str(self._ref), error=str(error))
            return False
        return True
