"""Progress lines of the harness: on standard error, at once, so that nobody waits in the dark."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def say(line: str) -> None:
    """Write one progress line to standard error."""
    print(f"e2e: {line}", file=sys.stderr, flush=True)


@contextmanager
def step(what: str, usual: str) -> Iterator[None]:
    """Announce `what` and how long it usually takes, and say how long it took."""
    say(f"{what} (usually {usual}) ...")
    start = time.monotonic()
    yield
    say(f"{what}: done in {time.monotonic() - start:.1f} s")
