"""Runs kopf in a thread with its own event loop, and starts it again whenever it ends.

kopf cancels every task of its loop when it ends, so it cannot share the loop of the servers; and a refused or
missing resource ends it, so it is supervised. While it is down the last snapshot is served. The stop flag is an
asyncio.Event: with a threading.Event kopf waits for ever after a fatal error.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import kopf
import structlog

from cacheroute.controllers.handlers import Feed, register
from cacheroute.domain.errors import StoreError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before kopf is started again; doubled each time."""
HEALTHY_SECONDS = 60.0
"""After so long a run the pauses begin anew."""
STOP_SECONDS = 10.0
"""How long the end of kopf is waited for; its thread never keeps the process."""
CONNECT_SECONDS, REQUEST_SECONDS = 5.0, 30.0
PAGE = 500

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WatchScope:
    """What is watched.

    Attributes:
        namespaces: of RoutingPlans and Pods; empty means all.
        pod_labels: label selector that all vLLM pods meet, applied by the API server; empty means every pod.
        node_labels: the same for nodes.
    """

    namespaces: tuple[str, ...] = ()
    pod_labels: str = ""
    node_labels: str = ""


class Pauses:
    """Growing pauses without end, anew at each iteration; the jitter keeps replicas apart."""

    def __iter__(self) -> Iterator[float]:
        """Yield pauses, seconds."""
        pause = FIRST_PAUSE
        while True:
            yield pause * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, not a secret
            pause = min(2 * pause, LONGEST_PAUSE)


def settings(scope: WatchScope) -> kopf.OperatorSettings:
    """Return kopf's settings: no writes, no peering, no scanning, and errors of the API server are waited out."""
    chosen = kopf.OperatorSettings()
    chosen.scanning.disabled = True
    chosen.peering.standalone = True
    chosen.posting.enabled = False
    chosen.process.ultimate_exiting_timeout = None
    chosen.networking.connect_timeout = CONNECT_SECONDS
    chosen.networking.request_timeout = REQUEST_SECONDS
    chosen.networking.error_backoffs = Pauses()
    chosen.watching.chunk_size = PAGE
    if scope.pod_labels:
        chosen.watching.label_selectors["v1", "pods"] = scope.pod_labels
    if scope.node_labels:
        chosen.watching.label_selectors["v1", "nodes"] = scope.node_labels
    return chosen


class KopfRunner:
    """Watches the cluster until cancelled."""

    def __init__(
        self,
        feed: Feed,
        scope: WatchScope,
        check: Callable[[], None],
        restarted: Callable[[], None],
    ) -> None:
        """Take what to call.

        Args:
            feed: takes the events.
            scope: what is watched.
            check: blocks; raises StoreError while something cannot be read. kopf watches only what is served
                when it starts, and says nothing of the rest, so it is not started before.
            restarted: called in the feed's loop when kopf starts again and may have missed deletions.
        """
        self._feed, self._scope, self._check, self._restarted = feed, scope, check, restarted
        self._restarts = 0

    @property
    def restarts(self) -> int:
        """How often kopf was started again."""
        return self._restarts

    async def run(self) -> None:
        """Watch until cancelled; returns within STOP_SECONDS after that, whatever kopf does."""
        watch_loop, stop, ended = asyncio.new_event_loop(), asyncio.Event(), asyncio.Event()
        arguments = (watch_loop, stop, ended)
        threading.Thread(target=self._thread, args=arguments, name="kopf", daemon=True).start()
        try:
            await ended.wait()
        finally:
            if not watch_loop.is_closed():
                watch_loop.call_soon_threadsafe(stop.set)
            await _at_most(STOP_SECONDS, ended)

    def _thread(self, loop: asyncio.AbstractEventLoop, stop: asyncio.Event, ended: asyncio.Event) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(self._supervise(stop))
        finally:
            self._call(ended.set)

    async def _supervise(self, stop: asyncio.Event) -> None:
        pauses = iter(Pauses())
        while True:
            started = time.monotonic()
            reason = await self._watch(stop)
            if stop.is_set():
                return
            if time.monotonic() - started > HEALTHY_SECONDS:
                pauses = iter(Pauses())
            pause = next(pauses)
            _log.warning("cluster not watched, will try again", reason=reason, seconds=round(pause, 1))
            await _at_most(pause, stop)
            self._restarts += 1
            self._call(self._restarted)

    async def _watch(self, stop: asyncio.Event) -> str:
        """Run kopf once; returns why it ended."""
        registry = kopf.OperatorRegistry()
        register(registry, self._feed)
        kopf.on.login(registry=registry)(_login)
        try:
            await asyncio.to_thread(self._check)
            await kopf.operator(
                registry=registry,
                settings=settings(self._scope),
                stop_flag=stop,
                standalone=True,
                clusterwide=not self._scope.namespaces,
                namespaces=self._scope.namespaces,
            )
        except StoreError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - whatever ends a watch must not end the operator
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
        return "kopf returned"

    def _call(self, function: Callable[[], None]) -> None:
        if not self._feed.loop.is_closed():
            self._feed.loop.call_soon_threadsafe(function)


def _login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    """Take the credentials that the official client finds: the service account, else the kubeconfig."""
    return kopf.login_via_client(**kwargs)


async def _at_most(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
