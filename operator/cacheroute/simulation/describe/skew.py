"""How unequal keys or models are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.describe.sums import Sums

TOP = (1, 10, 100)
TOP_PERCENT = (1, 4, 10)
_LISTED = 20
Floats = NDArray[np.float64]


class Skew:
    """Requests and tokens of each of many groups."""

    def __init__(self) -> None:
        self._requests, self._tokens, self._prompt = Sums(), Sums(), Sums()
        self.unknown = 0

    def add(self, group: NDArray[np.int32], prompt: NDArray[np.int64], output: NDArray[np.int64]) -> None:
        """Take note of the next requests; groups below 0 are not known."""
        known = group >= 0
        self.unknown += int(group.size - known.sum())
        at = group[known].astype(np.int64)
        self._requests.add(at)
        self._prompt.add(at, prompt[known])
        self._tokens.add(at, prompt[known] + output[known])

    def requests(self, size: int) -> Floats:
        """Return float64[size], requests of each group."""
        return self._requests.upto(size)

    def document(self, names: list[str]) -> dict[str, Any] | None:
        """Return the figures and the largest groups; None where there are no groups."""
        requests, tokens, prompt = (
            one.upto(len(names)) for one in (self._requests, self._tokens, self._prompt)
        )
        if not requests.any():
            return None
        largest = np.argsort(-requests, kind="stable")[:_LISTED]
        return {
            "count": int((requests > 0).sum()),
            "unknown_requests": self.unknown,
            "requests": unequal(requests[requests > 0]),
            "tokens": unequal(tokens[requests > 0]),
            "largest": [
                {
                    "name": names[at],
                    "requests": int(requests[at]),
                    "share": float(requests[at] / requests.sum()),
                    "mean_prompt": float(prompt[at] / requests[at]),
                    "mean_output": float((tokens[at] - prompt[at]) / requests[at]),
                }
                for at in largest
                if requests[at] > 0
            ],
        }


def unequal(amounts: Floats) -> dict[str, Any]:
    """Return Gini, the shares of the largest, and how many it takes for half and for 90 %; amounts are > 0."""
    ordered = np.sort(amounts)[::-1]
    reached = np.cumsum(ordered) / ordered.sum()
    points = np.unique(np.geomspace(1, ordered.size, 60).astype(np.int64))
    return {
        "gini": gini(amounts),
        "top": {str(n): float(reached[min(n, reached.size) - 1]) for n in TOP if n <= reached.size},
        "top_percent": {str(n): float(reached[max(reached.size * n // 100, 1) - 1]) for n in TOP_PERCENT},
        "for_half": int(np.searchsorted(reached, 0.5 - 1e-12) + 1),
        "for_90_percent": int(np.searchsorted(reached, 0.9 - 1e-12) + 1),
        "curve": [(int(n), float(reached[n - 1])) for n in points],
    }


def gini(values: Floats) -> float:
    """Return Gini's coefficient of values >= 0; 0 where all are equal or there are none."""
    total = float(values.sum())
    if total <= 0:
        return 0.0
    ranked = np.sort(values)
    ranks = np.arange(1, ranked.size + 1)
    return float((2 * ranks - ranked.size - 1) @ ranked / (ranked.size * total))
