"""What a replay is judged by."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.replay.kernel import Columns, Routed
from cacheroute.simulation.routing.view import NOWHERE


@dataclass(frozen=True, slots=True)
class Figures:
    """Result of one replay; ratios are 0 where there was nothing to divide.

    Attributes:
        requests: number of requests that were routed.
        refused: those that no destination could take.
        token_hit: prompt tokens found in a cache / prompt tokens.
        request_hit: share of the requests that found some of their prompt.
        max_over_mean: largest token load of a destination / mean; tokens are prompt and output.
        variation: standard deviation of the token loads / mean.
        fairness: Jain's index of the token loads, 1/R to 1.
        replication: mean number of destinations that a session was served by.
    """

    requests: int
    refused: int
    token_hit: float
    request_hit: float
    max_over_mean: float
    variation: float
    fairness: float
    replication: float


def figures(columns: Columns, routed: Routed, destinations: int) -> Figures:
    """Judge a replay."""
    served = routed.destination != NOWHERE
    where, hit, prompt = routed.destination[served], routed.hit[served], columns.prompt[served]
    tokens = (prompt + columns.output[served]).astype(np.float64)
    load = np.bincount(where, weights=tokens, minlength=destinations)
    mean = float(load.mean())
    return Figures(
        requests=int(where.size),
        refused=int(served.size - where.size),
        token_hit=_ratio(float(hit.sum()), float(prompt.sum())),
        request_hit=_ratio(float(np.count_nonzero(hit)), where.size),
        max_over_mean=_ratio(float(load.max()), mean),
        variation=_ratio(float(load.std()), mean),
        fairness=_ratio(float(load.sum()) ** 2, destinations * float((load**2).sum())),
        replication=_replication(columns.session[served], where, destinations),
    )


def _replication(session: NDArray[np.int64], where: NDArray[np.int64], destinations: int) -> float:
    if session.size == 0:
        return 0.0
    pairs = np.unique(session * destinations + where)
    return float(pairs.size / np.unique(session).size)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
