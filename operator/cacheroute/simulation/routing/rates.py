"""Request rates of a window, as plans are made from."""

import numpy as np
from numpy.typing import NDArray


def past_rates(
    arrival: NDArray[np.float64], key: NDArray[np.int64], now: float, window: float, keys: int
) -> NDArray[np.float64]:
    """Return the rates of ``now - window`` up to, without, ``now``; of the time since 0 where that is shorter.

    Args:
        arrival: float64[N], seconds from 0 on, ascending.
        key: int64[N], 0..K-1.
        now: seconds, > 0.
        window: seconds, > 0.
        keys: K.

    Returns:
        float64[K], requests/s.
    """
    begin, end = np.searchsorted(arrival, (now - window, now))
    counts = np.bincount(key[begin:end], minlength=keys)
    rates: NDArray[np.float64] = counts / min(window, now)
    return rates
