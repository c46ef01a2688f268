"""Runs a long-lived coroutine until SIGTERM, Ctrl-C or the terminal closes, on uvloop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

import uvloop

INTERRUPTED = 130
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that ask for a clean end; SIGHUP is a closed terminal."""
_Result = TypeVar("_Result")


def run_until_signal(serve: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    """Run ``serve(stop)``; a signal sets ``stop``. Returns 0, or 130 after Ctrl-C."""
    return uvloop.run(_run(serve))


async def _run(serve: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    stop = asyncio.Event()
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        stop.set()

    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    await serve(stop)
    return INTERRUPTED if signal.SIGINT in received else 0


async def interruptible(work: Coroutine[None, None, _Result]) -> _Result:
    """Run ``work``; SIGTERM and Ctrl-C cancel it, and it ends what it started before the cancellation is raised."""
    task = asyncio.ensure_future(work)
    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await task
