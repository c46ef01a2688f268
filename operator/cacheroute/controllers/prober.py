"""Asks every destination of standalone mode for /health, as a kubelet would."""

import asyncio
from collections.abc import Callable

import aiohttp
import structlog

from cacheroute.controllers.file_world import DestinationEntry, FileWorld
from cacheroute.domain.fleet import DestinationState

PERIOD_SECONDS = 1.0
TIMEOUT_SECONDS = 2.0
MAX_PROBES = 256
"""Probes at the same time: each needs a file descriptor, of which a process often has 1,024."""
FAILURES_TO_LOSE = 2
"""Answers that are late or bad in a row before a destination is lost; a refused connection needs only one."""

_log = structlog.get_logger(__name__)


class Prober:
    """Keeps the states of a FileWorld's destinations."""

    def __init__(self, world: FileWorld, changed: Callable[[], None]) -> None:
        self._world, self._changed = world, changed
        self._failures: dict[DestinationEntry, int] = {}
        self._slots = asyncio.Semaphore(MAX_PROBES)

    async def run(self) -> None:
        """Probe all destinations each period, until cancelled."""
        async with _session() as session:
            while True:
                await self.round(session)
                await asyncio.sleep(PERIOD_SECONDS)

    async def first_round(self) -> None:
        """Probe once, so that it is known who answers before anything is published."""
        async with _session() as session:
            await self.round(session)

    async def round(self, session: aiohttp.ClientSession) -> None:
        """Probe every destination once."""
        async with asyncio.TaskGroup() as tasks:
            entries = self._world.entries
            self._failures = {entry: self._failures.get(entry, 0) for entry in entries}
            for entry in entries:
                tasks.create_task(self._probe(session, entry))

    async def _probe(self, session: aiohttp.ClientSession, entry: DestinationEntry) -> None:
        try:
            async with self._slots, session.get(_url(entry), allow_redirects=False) as answer:
                self._note(entry, failed=answer.status != 200, final=False)  # noqa: PLR2004 - HTTP 200
        except aiohttp.ClientConnectionError:
            self._note(entry, failed=True, final=True)
        except (aiohttp.ClientError, TimeoutError):
            self._note(entry, failed=True, final=False)

    def _note(self, entry: DestinationEntry, *, failed: bool, final: bool) -> None:
        failures = self._failures.get(entry, 0) + 1 if failed else 0
        self._failures[entry] = failures
        if failed and not final and failures < FAILURES_TO_LOSE:
            return
        state = DestinationState.LOST if failed else DestinationState.READY
        if self._world.observe(entry, state):
            _log.info("destination " + state.lower(), destination=entry.name, address=str(entry.address))
            self._changed()


def _session() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS), connector=connector)


def _url(entry: DestinationEntry) -> str:
    host = f"[{entry.address}]" if entry.address.version == 6 else str(entry.address)  # noqa: PLR2004 - IPv6
    return f"http://{host}:{entry.port}/health"
