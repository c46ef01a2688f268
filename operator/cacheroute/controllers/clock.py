"""Wall-clock time for stamps, monotonic time for schedules; passed in, so that the loop can be driven by tests."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Two clocks.

    Attributes:
        wall: seconds since the epoch.
        monotonic: seconds, never goes back.
    """

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
