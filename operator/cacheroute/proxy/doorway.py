"""Tells of peers that connect and never get through TLS: gRPC says nothing of them to its user."""

import asyncio
from collections.abc import Callable

import structlog

HANDSHAKE_SECONDS = 5.0
"""A peer that opened no stream for so long after it connected is told of."""

_log = structlog.get_logger(__name__)


class Doorway:
    """Compares connections begun with connections that opened a stream."""

    def __init__(self, on_failure: Callable[[], None]) -> None:
        """Create it in the loop that serves; ``on_failure`` is called when connections have failed."""
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._begun = 0
        self._passed: set[str] = set()
        self._due: asyncio.TimerHandle | None = None

    def begun(self) -> None:
        """Note a connection; may be called from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._note)

    def passed(self, peer: str) -> None:
        """Note that a peer, host and port, opened a stream."""
        if self._due is not None:
            self._passed.add(peer)

    def close(self) -> None:
        """Stop telling."""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _note(self) -> None:
        self._begun += 1
        if self._due is None:
            self._due = self._loop.call_later(HANDSHAKE_SECONDS, self._tell)

    def _tell(self) -> None:
        failed = self._begun - len(self._passed)
        self._begun, self._passed, self._due = 0, set(), None
        if failed > 0:
            self._on_failure()
            _log.warning(
                "connections to xDS without a valid client certificate",
                number=failed,
                why="the peer speaks plain text, or its certificate is missing or not signed by the client CA",
            )
