"""Row 3: one of six destinations is killed under load, and while long streams are open."""

import contextlib
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from typing import Self

from benchmarks.gateway import load, rig
from benchmarks.gateway.load import SSE_ANSWER, Load, Seen, Traffic
from benchmarks.gateway.processes import Running
from benchmarks.gateway.results import Figure, Row, at_least, median, worst

KEYS = 1_000
DESTINATIONS = 6
REPETITIONS = 5
LOAD_SECONDS, KILL_AFTER = 4.0, 1.5
CONNECTIONS = 8
STREAMS, STREAM_SECONDS = 60, 60
QUICK_STREAMS, QUICK_STREAM_SECONDS = 12, 4
RATE, SLOWEST_MS = 5_000.0, 50.0
_DESTINATION = "x-cacheroute-destination"


def run(say: Callable[[str], None], *, quick: bool) -> Row:
    """Measure."""
    seen, without, busy = [], [], []
    for number in range(1 if quick else REPETITIONS):
        say(f"loss of a destination under load: {number + 1}")
        before, after = _kill_under_load()
        without.append(before)
        seen.append(after)
        busy.append(os.getloadavg()[0])
    say("loss of a destination with streams open")
    count, seconds = (QUICK_STREAMS, QUICK_STREAM_SECONDS) if quick else (STREAMS, STREAM_SECONDS)
    cut_elsewhere, on_the_dead, cut_there = _kill_with_streams(count, seconds)
    machine = f"load average of the machine {min(busy):.0f} to {max(busy):.0f}; {os.cpu_count()} cores"
    return Row(
        "loss",
        "SIGKILL of one of 6 destinations",
        [
            at_least("rate", [one.rate for one in seen], "requests/s", RATE),
            worst("failed requests", [one.failed for one in seen], "requests", 0.0),
            median("slowest request", [one.slowest for one in seen], "ms", SLOWEST_MS, machine, digits=1),
            median("slowest request without a loss", [one.slowest for one in without], "ms", digits=1),
            Figure("streams of the others that broke", cut_elsewhere, f"of {count - on_the_dead}", 0.0),
            Figure("streams of the dead one that broke", cut_there, f"of {on_the_dead}"),
        ],
    )


@contextlib.contextmanager
def _planned() -> Iterator[tuple[rig.Gateway, list[Running]]]:
    """Run a gateway with a plan on six processes."""
    with contextlib.ExitStack() as stack:
        backends = [stack.enter_context(rig.backend(f"pod-{number:04d}")) for number in range(DESTINATIONS)]
        gateway = stack.enter_context(rig.gateway())
        gateway.publish(rig.order(KEYS, [("127.0.0.1", port) for _, port in backends]))
        load.run(gateway.port, Traffic("header", 0, KEYS - 1, 256), 1, CONNECTIONS)
        yield gateway, [process for process, _ in backends]


def _kill_under_load() -> tuple[Seen, Seen]:
    """Return what clients saw before, and while one was killed that nobody tells Envoy of."""
    traffic = Traffic("header", 0, KEYS - 1, 256)
    with _planned() as (gateway, backends):
        before = load.run(gateway.port, traffic, LOAD_SECONDS, CONNECTIONS)
        loaded = Load(gateway.port, traffic, LOAD_SECONDS, CONNECTIONS)
        time.sleep(KILL_AFTER)
        backends[0].kill()
        return before, loaded.seen()


def _kill_with_streams(count: int, seconds: int) -> tuple[int, int, int]:
    """Return how many streams broke on living destinations, how many the dead one had, and how many of those broke."""
    with _planned() as (gateway, backends), contextlib.ExitStack() as stack:
        streams = [stack.enter_context(_Stream(gateway.port, number, seconds)) for number in range(count)]
        dead = streams[0].destination
        next(one for one in backends if one.name == dead).kill()
        whole = [(one.destination == dead, one.whole()) for one in streams]
    lost = [complete for there, complete in whole if there]
    return sum(not complete for there, complete in whole if not there), len(lost), lost.count(False)


class _Stream:
    """One open stream, read in the background."""

    def __init__(self, port: int, number: int, seconds: int) -> None:
        headers = {"Accept": f"{SSE_ANSWER}; hold={seconds}", "x-tenant-id": f"tenant-{number:07d}"}
        body = b'{"model":"llama","stream":true}'
        url = f"http://127.0.0.1:{port}/v1/completions"
        headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, body, headers)
        self._answer: HTTPResponse = urllib.request.urlopen(request, timeout=seconds + 30)  # noqa: S310  same
        self.destination = self._answer.headers[_DESTINATION]
        self._text = b""
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._answer.close()

    def whole(self) -> bool:
        """Wait for the end; tell whether it was the right one."""
        self._reader.join()
        return self._text.endswith(b"data: [DONE]\n\n")

    def _read(self) -> None:
        with contextlib.suppress(OSError, HTTPException):
            for line in self._answer:
                self._text = self._text[-64:] + line
