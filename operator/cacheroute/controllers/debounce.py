"""Wakes a task once for many changes: soon after the last one, at the latest some time after the first."""

import asyncio

QUIET_SECONDS = 0.05
LATEST_SECONDS = 0.5


class Debounce:
    """A resettable signal. Waiting ends ``quiet`` seconds after the last ``set``, at most ``latest`` after the first."""

    def __init__(self, quiet: float = QUIET_SECONDS, latest: float = LATEST_SECONDS) -> None:
        self._quiet, self._latest = quiet, latest
        self._signal = asyncio.Event()

    def set(self) -> None:
        """Note a change; call it in the loop's thread."""
        self._signal.set()

    async def wait(self) -> None:
        """Wait for changes and take them all."""
        await self._signal.wait()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._latest
        while self._signal.is_set() and loop.time() < deadline:
            self._signal.clear()
            await asyncio.sleep(min(self._quiet, max(0.0, deadline - loop.time())))
        self._signal.clear()
