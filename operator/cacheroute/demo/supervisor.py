"""Processes of one run: each in its own group, logged to the run's folder, ended with the run whatever happens."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from cacheroute.demo.errors import DemoError

GRACE_SECONDS = 5.0
START_SECONDS = 60.0
POLL_SECONDS = 0.1
LOG_LINES = 5
COMMAND = (sys.executable, "-m", "cacheroute.cli.main")
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class Process:
    """One process of the run."""

    def __init__(self, name: str, command: tuple[str, ...], log: Path) -> None:
        self.name, self.command, self.log = name, command, log
        self._child: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._child is not None and self._child.returncode is None

    @property
    def pid(self) -> int | None:
        """Its id, which is its group's too; None before it was started."""
        return None if self._child is None else self._child.pid

    async def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start it; its output goes to its log.

        Args:
            environment: in place of ours.
        """
        parent = os.getpid()
        with self.log.open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: _die_with(parent),
            )

    async def until(self, ready: Callable[[], Awaitable[bool]], seconds: float = START_SECONDS) -> None:
        """Wait until ``ready`` says so.

        Raises:
            DemoError: the process ended, or took too long; the message has the last lines of its log.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        while not await ready():
            if not self.running:
                raise DemoError(f"{self.name} ended while starting{self._code()}; {self.last_words()}")
            if asyncio.get_running_loop().time() > deadline:
                raise DemoError(f"{self.name} was not ready after {seconds:.0f} s; {self.last_words()}")
            await asyncio.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raise DemoError where it has ended by itself."""
        if not self.running:
            raise DemoError(f"{self.name} has ended{self._code()}; {self.last_words()}")

    def last_words(self) -> str:
        """Return the last lines of the log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        except OSError:
            lines = []
        return f"{self.log} ends: " + (" | ".join(lines) or "(nothing)")

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL to its group)."""
        self._signal(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end, then make it."""
        if self._child is None:
            return
        self._signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await self._child.wait()
        self._signal(signal.SIGKILL)
        await self._child.wait()

    def _code(self) -> str:
        code = None if self._child is None else self._child.returncode
        return "" if code is None else f" (exit code {code})"

    def _signal(self, number: signal.Signals) -> None:
        """Signal the process's group; it keeps that number as long as any member lives."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)


class Supervisor:
    """Starts processes and ends them all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[Process] = []

    def add(self, name: str, *arguments: str) -> Process:
        """Prepare a process of this program; ``arguments`` are those of `cacheroute`."""
        process = Process(name, (*COMMAND, *arguments), self._folder / f"{name}.log")
        self._processes.append(process)
        return process

    async def stop(self) -> None:
        """End every process."""
        await asyncio.gather(*(process.stop() for process in self._processes))


def _die_with(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent dies (prctl(2)), so that nothing outlives a killed run."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
