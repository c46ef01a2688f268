"""Reads the cluster whole: before anything is served, when watches may have missed something, and now and then."""

import asyncio

import structlog

from cacheroute.domain.errors import StoreError
from cacheroute.kube.world import KubeWorld

PERIOD_SECONDS = 60.0
RETRY_SECONDS = 2.0

_log = structlog.get_logger(__name__)


class Relist:
    """Keeps the world complete."""

    def __init__(self, world: KubeWorld) -> None:
        self._world = world
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Ask for a list soon; call it in the loop's thread."""
        self._asked.set()

    async def once(self) -> None:
        """List, and try again until it succeeds."""
        while True:
            try:
                await self._world.relist()
            except StoreError as error:
                _log.warning("cluster not read, will retry", error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def run(self) -> None:
        """List when asked and every PERIOD_SECONDS, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(PERIOD_SECONDS):
                    await self._asked.wait()
            except TimeoutError:
                pass
            self._asked.clear()
            await self.once()
