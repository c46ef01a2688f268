"""Who uses which model, and how soon a user comes back to it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.describe.histogram import Histogram
from cacheroute.simulation.traces.requests import Requests
from cacheroute.simulation.traces.seen import Seen

RETURNS = {
    "0.1 s": 0.1,
    "1 s": 1.0,
    "10 s": 10.0,
    "1 min": 60.0,
    "5 min": 300.0,
    "15 min": 900.0,
    "1 h": 3600.0,
}
"""Times within which a pair's next request may come."""
_MODELS = 1 << 20
_MICRO = 1e6
Ints = NDArray[np.int64]


class Structure:
    """Pairs of user and model; where no models are known, users alone."""

    def __init__(self) -> None:
        self._pairs = Seen()
        self._gaps = Histogram()
        self._returned = dict.fromkeys(RETURNS, 0)

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        keyed = part.key >= 0
        pair = part.key[keyed].astype(np.int64) * _MODELS + part.model[keyed] + 1
        time = part.time[keyed]
        gap = time - self._pairs.add(pair, time, np.zeros(time.size, dtype=np.int64)).before
        gap = gap[~np.isnan(gap)]
        self._gaps.add(np.round(gap * _MICRO).astype(np.int64))
        for name, seconds in RETURNS.items():
            self._returned[name] += int((gap <= seconds).sum())

    def reuse_times(self) -> dict[str, Any] | None:
        """Return how soon requests of a pair follow each other, None where no pair came twice."""
        if not self._gaps.count:
            return None
        return {
            "returns": self._gaps.count,
            "not_followed": self._pairs.missed,
            "within": {name: count / self._gaps.count for name, count in self._returned.items()},
            "seconds": self._gaps.document(1 / _MICRO),
            "curve": self._gaps.curve(1 / _MICRO),
        }

    def document(self) -> dict[str, Any] | None:
        """Return how users and models belong together, None where no models are known."""
        known = self._pairs.thing % _MODELS > 0
        user, model = np.divmod(self._pairs.thing[known], _MODELS)
        count = self._pairs.count[known]
        if not user.size:
            return None
        users_of, models_of = _sizes(model), _sizes(user)
        total, largest = _largest(model, count)
        return {
            "pairs": int(user.size),
            "users_of_a_model": _spread(users_of),
            "models_of_a_user": _spread(models_of),
            "users_of_one_model_share": float((models_of == 1).mean()),
            "largest_user_share_of_a_model": _spread(largest / total),
            "models_mostly_of_one_user_share": float((largest > total / 2).mean()),
        }


def _sizes(group: Ints) -> Ints:
    counts: Ints = np.unique(group, return_counts=True)[1]
    return counts


def _largest(group: Ints, amount: Ints) -> tuple[Ints, Ints]:
    """Return the sum and the largest amount of each group."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1) != 0)
    return np.add.reduceat(amount[order], starts), np.maximum.reduceat(amount[order], starts)


def _spread(values: NDArray[Any]) -> dict[str, float]:
    p50, p90 = np.quantile(values, (0.5, 0.9), method="inverted_cdf")
    return {"mean": float(values.mean()), "p50": float(p50), "p90": float(p90), "max": float(values.max())}
