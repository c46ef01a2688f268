"""Processes of a measurement: started together, measured by what the kernel counts, and gone at the end."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _STIME = 11, 12
"""Fields of /proc/PID/stat after the command's name (proc(5))."""
START_SECONDS = 60.0
_TIED = ["setpriv", "--pdeathsig", "KILL"]
"""The kernel ends the process when ours dies, however that happens."""


class MeasureError(Exception):
    """A measurement cannot be made; one line."""


class Running:
    """One process."""

    def __init__(self, name: str, process: "subprocess.Popen[str]") -> None:
        self.name = name
        self.process = process

    @property
    def processor_seconds(self) -> float:
        """User and system time so far, seconds."""
        return _seconds(self._proc("stat"))

    def thread_seconds(self, name: str) -> float:
        """User and system time so far of the threads whose names begin like this, seconds."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        stats = ((thread / "stat").read_text("ascii", "replace") for thread in threads)
        return sum(_seconds(stat) for stat in stats if stat.partition("(")[2].startswith(name))

    @property
    def rss_mb(self) -> float:
        """Resident memory, MB."""
        lines = dict(line.split(":", 1) for line in self._proc("status").splitlines() if ":" in line)
        return int(lines["VmRSS"].split()[0]) / 1000

    def kill(self) -> None:
        """End it without notice."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def line(self) -> str:
        """Return the next line of its output; MeasureError where it has ended."""
        line = _stream(self.process.stdout).readline()
        if not line:
            raise MeasureError(f"{self.name} ended with {self.process.wait()}: run it by hand to see why")
        return line.strip()

    def tell(self, line: str) -> None:
        """Write a line to its input."""
        stream = _stream(self.process.stdin)
        stream.write(f"{line}\n")
        stream.flush()

    def _proc(self, file: str) -> str:
        return Path(f"/proc/{self.process.pid}/{file}").read_text("ascii", "replace")


def _seconds(stat: str) -> float:
    """Return user and system time out of a stat file, seconds."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS


def _stream(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise MeasureError("the process was started without pipes")
    return stream


@contextlib.contextmanager
def started(name: str, command: Sequence[str | Path], *, log: Path | None = None) -> Iterator[Running]:
    """Run a process for the time of the `with` block; its output can be read, its errors go to ``log``."""
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context((log or Path(os.devnull)).open("ab"))
        process = subprocess.Popen(  # noqa: S603  our own words only
            [*_TIED, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            yield Running(name, process)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    _stream(pipe).close()


def free_port() -> int:
    """Return a TCP port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def page(url: str) -> bytes:
    """Return a page on loopback."""
    with urllib.request.urlopen(url, timeout=START_SECONDS) as answer:  # noqa: S310  http on loopback
        body: bytes = answer.read()
        return body


def wait_for(url: str, what: str) -> None:
    """Wait until ``url`` answers 200; MeasureError where it does not within START_SECONDS."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            page(url)
            return
        time.sleep(0.05)
    raise MeasureError(f"{what}: {url} does not answer after {START_SECONDS:.0f} s")
