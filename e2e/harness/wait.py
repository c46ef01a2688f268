"""Waiting for a condition with a deadline; nothing in the tests sleeps and then asserts."""

import time
from collections.abc import Callable

from e2e.harness.errors import HarnessError, ServiceEndedError


def until(condition: Callable[[], object], *, within: float, what: str, every: float = 0.1) -> float:
    """Wait until `condition` returns something true, and return the seconds it took.

    A `HarnessError` of the condition counts as not yet; that a service has ended passes through.

    Raises:
        HarnessError: It did not become true `within` seconds; the message says `what` and the last error.
    """
    start, last = time.monotonic(), ""
    while True:
        try:
            if condition():
                return time.monotonic() - start
        except ServiceEndedError:
            raise
        except HarnessError as error:
            last = f"; last: {error}"
        if time.monotonic() - start > within:
            raise HarnessError(f"{what}: not after {within:.0f} s{last}")
        time.sleep(every)
