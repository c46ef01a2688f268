"""Which seldom used models could share a GPU: those that are hardly ever active in the same minute."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.traces.requests import Requests

TAIL = 0.10
"""The long tail: the least used models that together have at most this share of the requests."""
OVERLAP = 0.01
"""Share of a model's active minutes in which another model of its GPU may be active."""
MOST_MODELS = 2_000
_MOST_SPANS = 1 << 18
_MOST_KEPT = 16_000_000
_MOST_WAITING = 1_000_000
_MINUTE = 60.0
Ints = NDArray[np.int64]


class Sharing:
    """Minutes in which each model had requests; longer spans where a trace has more than 182 days of them."""

    def __init__(self) -> None:
        self._kept: Ints = np.empty(0, dtype=np.int64)
        self._new: list[Ints] = []
        self._waiting = 0
        self._origin = float("nan")
        self._minutes = 1

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        if np.isnan(self._origin):
            self._origin = float(part.time[0])
        known = part.model >= 0
        minute = ((part.time[known] - self._origin) // _MINUTE).astype(np.int64)
        while minute.size and minute[-1] // self._minutes >= _MOST_SPANS:
            self._coarsen()
        new = np.unique(part.model[known].astype(np.int64) * _MOST_SPANS + minute // self._minutes)
        self._new.append(new)
        self._waiting += new.size
        if self._waiting > _MOST_WAITING:
            self._merge()
            while self._kept.size > _MOST_KEPT:
                self._coarsen()

    def document(self, requests: NDArray[np.float64]) -> dict[str, Any] | None:
        """Return how many GPUs the tail needs; ``requests`` are those of each model. None without a tail."""
        self._merge()
        tail = _tail(requests)
        if tail.size < 2:  # noqa: PLR2004  one alone shares with nobody
            return None
        spans = {int(model): self._of(int(model)) for model in tail}
        gpus = _packed(list(spans.values()))
        active = np.array([one.size for one in spans.values()]) / max(
            int(self._kept.max() % _MOST_SPANS) + 1, 1
        )
        return {
            "tail_models": int((_all_of_tail(requests)).size),
            "judged_models": len(spans),
            "tail_share": float(requests[_all_of_tail(requests)].sum() / requests.sum()),
            "minutes_of_a_span": self._minutes,
            "median_active_share": float(np.median(active)),
            "gpus": gpus,
            "models_on_a_gpu": len(spans) / gpus,
        }

    def _of(self, model: int) -> Ints:
        low, high = np.searchsorted(self._kept, (model * _MOST_SPANS, (model + 1) * _MOST_SPANS))
        return self._kept[low:high] % _MOST_SPANS

    def _merge(self) -> None:
        if self._new:
            self._kept = np.unique(np.concatenate((self._kept, *self._new)))
            self._new, self._waiting = [], 0

    def _coarsen(self) -> None:
        self._merge()
        self._minutes *= 2
        model, span = np.divmod(self._kept, _MOST_SPANS)
        self._kept = np.unique(model * _MOST_SPANS + span // 2)


def _all_of_tail(requests: NDArray[np.float64]) -> Ints:
    order = np.argsort(requests, kind="stable")
    order = order[requests[order] > 0]
    tail: Ints = order[np.cumsum(requests[order]) <= TAIL * requests.sum()]
    return tail


def _tail(requests: NDArray[np.float64]) -> Ints:
    return _all_of_tail(requests)[-MOST_MODELS:]


def _packed(models: list[Ints]) -> int:
    """Put each model, the most active first, on the first GPU where it hardly overlaps; return the GPUs."""
    size = max(int(one.max()) for one in models) + 1
    gpus: list[NDArray[np.bool_]] = []
    for spans in sorted(models, key=lambda one: -one.size):
        busy = next((gpu for gpu in gpus if gpu[spans].sum() <= OVERLAP * spans.size), None)
        if busy is None:
            busy = np.zeros(size, dtype=np.bool_)
            gpus.append(busy)
        busy[spans] = True
    return len(gpus)
