"""Load by wrk: what is sent, and what its clients saw."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateway import programs
from benchmarks.gateway.processes import MeasureError

SCRIPT = Path(__file__).with_name("wrk.lua")
JSON_ANSWER, SSE_ANSWER = "application/json", "text/event-stream"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What clients send; keys are ``tenant-0000000`` and so on.

    Attributes:
        where: the key stands in ``header`` x-tenant-id, in the ``body`` member user, or ``none``.
        first: number of the first key.
        last: number of the last key.
        count: different keys, spread evenly from the first to the last.
        bytes: of the request's messages.
        accept: JSON_ANSWER or SSE_ANSWER.
        flood: send ever new keys, from ``first`` on.
    """

    where: str = "header"
    first: int = 0
    last: int = 0
    count: int = 1
    bytes: int = 1024
    accept: str = JSON_ANSWER
    flood: bool = False

    @property
    def arguments(self) -> list[str]:
        """The arguments of wrk.lua."""
        numbers = map(str, (self.first, self.last, self.count, self.bytes))
        return [self.where, *numbers, self.accept, "flood" if self.flood else "cycle"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the clients saw.

    Attributes:
        requests: answered.
        seconds: they took.
        failed: connections and reads that broke, time-outs, answers of 400 and more.
        p50: median latency, ms.
        p99: its 99th percentile, ms.
        p999: its 99.9th percentile, ms.
        slowest: the slowest answer, ms.
    """

    requests: int
    seconds: float
    failed: int
    p50: float
    p99: float
    p999: float
    slowest: float

    @property
    def rate(self) -> float:
        """Requests/s."""
        return self.requests / self.seconds


class Load:
    """Load that runs in the background."""

    def __init__(self, port: int, traffic: Traffic, seconds: float, connections: int) -> None:
        command = [
            str(programs.wrk()),
            "-t1",
            f"-c{connections}",
            f"-d{max(1, round(seconds))}s",
            "--timeout=10s",
        ]
        url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(  # noqa: S603  our own words only
            [*command, "-s", str(SCRIPT), url, "--", *traffic.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def seen(self) -> Seen:
        """Wait for its end."""
        try:
            out, _ = self._process.communicate()
        except BaseException:
            self._process.kill()
            raise
        last = out.strip().rpartition("\n")[2]
        if self._process.returncode != 0 or not last.startswith("{"):
            raise MeasureError(f"wrk ended with {self._process.returncode}: {last}")
        return Seen(**json.loads(last))


def run(port: int, traffic: Traffic, seconds: float, connections: int = 16) -> Seen:
    """Send load and wait for its end."""
    return Load(port, traffic, seconds, connections).seen()
