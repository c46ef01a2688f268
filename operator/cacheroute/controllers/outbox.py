"""Delivers status and notices in the background: the newest status of each plan, retried until it is written."""

import asyncio
from collections import deque

import structlog

from cacheroute.controllers.ports import Reporter
from cacheroute.domain.decision import Notice
from cacheroute.domain.errors import StoreError
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.status import PlanStatus

MAX_NOTICES = 1000
"""Notices kept while they cannot be delivered; the oldest go first."""
RETRY_SECONDS = 2.0
SETTLE_SECONDS = 0.25
"""Pause before a delivery: proxies acknowledge a new plan within it, so users see no needless 'Pending'."""

_log = structlog.get_logger(__name__)


class Outbox:
    """Keeps slow or failing writes away from the path of events."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._statuses: dict[PlanRef, PlanStatus] = {}
        self._notices: deque[tuple[PlanRef, Notice]] = deque(maxlen=MAX_NOTICES)
        self._work = asyncio.Event()

    def put(self, ref: PlanRef, status: PlanStatus, notices: tuple[Notice, ...]) -> None:
        """Take the newest status of a plan and what to tell once."""
        self._statuses[ref] = status
        self._notices.extend((ref, notice) for notice in notices)
        self._work.set()

    def forget(self, ref: PlanRef) -> None:
        """Drop what is still to be written of a deleted plan."""
        self._statuses.pop(ref, None)
        kept = [entry for entry in self._notices if entry[0] != ref]
        self._notices.clear()
        self._notices.extend(kept)

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            await self._work.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._work.clear()
            if not await self._deliver():
                await asyncio.sleep(RETRY_SECONDS)
                self._work.set()

    async def _deliver(self) -> bool:
        while self._statuses or self._notices:
            try:
                await self._deliver_one()
            except StoreError as error:
                _log.warning("report not written, will retry", error=str(error))
                return False
        return True

    async def _deliver_one(self) -> None:
        if self._statuses:
            ref, status = next(iter(self._statuses.items()))
            await self._reporter.write(ref, status)
            if self._statuses.get(ref) is status:
                del self._statuses[ref]
        else:
            ref, notice = self._notices[0]
            await self._reporter.notify(ref, notice)
            if self._notices and self._notices[0] == (ref, notice):
                self._notices.popleft()
