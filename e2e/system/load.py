"""An open-loop load in a thread of its own: requests come at random times, however slow the answers are."""

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import aiohttp
import numpy as np


class OpenLoop(ABC):
    """Calls ``request`` at a steady mean rate while it runs."""

    def __init__(self, rate: float, timeout_seconds: float) -> None:
        """Take the requests/s and the seconds that each request may take."""
        self._rate, self._timeout = rate, timeout_seconds
        self._stop = threading.Event()
        self._arrivals = np.random.default_rng(11)

    @abstractmethod
    async def request(self, session: aiohttp.ClientSession) -> None:
        """Do one request; never raises for what the network does."""

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Send while the block runs; the thread has the network of the one that starts it. Ends with the last answer."""
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="load")
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join(timeout=self._timeout + 5)

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=self._timeout)
        connector = aiohttp.TCPConnector(limit=0)
        async with (
            aiohttp.ClientSession(timeout=timeout, connector=connector) as session,
            asyncio.TaskGroup() as tasks,
        ):
            due = time.monotonic()
            while not self._stop.is_set():
                due += float(self._arrivals.exponential(1 / self._rate))
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                tasks.create_task(self.request(session))
