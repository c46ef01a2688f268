"""Random numbers inside compiled code: xorshift64* (Marsaglia 2003, Vigna 2016), the same on every machine."""

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.compiled import compiled

_MULTIPLIER = np.uint64(0x2545F4914F6CDD1D)
_TWELVE, _TWENTY_FIVE, _TWENTY_SEVEN = np.uint64(12), np.uint64(25), np.uint64(27)
_LOW, _ELEVEN = np.uint64(33), np.uint64(11)


@compiled
def _next(state: NDArray[np.uint64]) -> np.uint64:
    x = state[0]
    x ^= x >> _TWELVE
    x ^= x << _TWENTY_FIVE
    x ^= x >> _TWENTY_SEVEN
    state[0] = x
    return np.uint64(x * _MULTIPLIER)


@compiled
def below(state: NDArray[np.uint64], bound: int) -> int:
    """Return a random integer in [0, bound)."""
    return int(_next(state) >> _LOW) % bound


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a random float in [0, 1)."""
    return float(_next(state) >> _ELEVEN) / 9007199254740992.0
