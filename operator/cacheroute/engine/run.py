"""The life of one simulated server."""

import asyncio
import contextlib
import signal
from collections.abc import Callable

import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry

from cacheroute.engine.driver import Driver
from cacheroute.engine.errors import ListenError
from cacheroute.engine.metrics import EngineMetrics
from cacheroute.engine.server import EngineServer
from cacheroute.engine.settings import EngineSettings
from cacheroute.simulation.engine_model.model import EngineModel

# Answers that are already decided get this long to reach their clients.
_FLUSH_SECONDS = 2.0


def run(settings: EngineSettings, host: str, port: int, started: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``started`` is called with the port once requests are taken.

    On a signal the server does what vLLM does: with a shutdown timeout of 0 it loses all requests (500), otherwise it
    lets them run for that long while new ones are answered as aborted (200, no text). More signals change nothing.
    Raises ListenError when the address cannot be bound.
    """
    uvloop.run(_serve(settings, host, port, started))


async def _serve(settings: EngineSettings, host: str, port: int, started: Callable[[int], None]) -> None:
    model = EngineModel(settings.limits, settings.timing)
    metrics = EngineMetrics(model, settings)
    registry = CollectorRegistry()
    registry.register(metrics)
    driver = Driver(model, metrics)
    app = EngineServer(settings, driver, registry).application()
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=_FLUSH_SECONDS)
    await runner.setup()
    try:
        stop = _signalled()
        started(await _listen(runner, host, port))
        await stop.wait()
        await _shut_down(driver, settings.shutdown_timeout)
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> int:
    try:
        await web.TCPSite(runner, host, port, backlog=1024).start()
    except OSError as error:
        raise ListenError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --host or --port"
        ) from error
    bound: int = runner.addresses[0][1]
    return bound


def _signalled() -> asyncio.Event:
    """Return what a signal sets."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def _shut_down(driver: Driver, timeout: float) -> None:
    if timeout > 0:
        driver.refuse()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(driver.drained(), timeout)
    driver.end()
