"""What a simulation of a fleet is judged by."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.fleet.state import Done, Work
from cacheroute.simulation.routing.view import NOWHERE


@dataclass(frozen=True, slots=True)
class FleetFigures:
    """Result of one simulation, over the requests that arrived in the measured time.

    Attributes:
        requests: number of requests.
        failed: share that was cut, refused, or had no first token within the limit.
        ttft_p50: median time to the first token, seconds.
        ttft_p99: its 99th percentile, seconds.
        token_hit: prompt tokens found in a cache / prompt tokens.
        imbalance: most requests of a destination / mean.
        worst_key_p99: the largest 99th percentile of a key with at least ``LEAST_REQUESTS`` requests, seconds.
        median_key_p99: the median of those.
        fairness: Jain's index of the mean slowdowns of those keys, 0..1.
    """

    requests: int
    failed: float
    ttft_p50: float
    ttft_p99: float
    token_hit: float
    imbalance: float
    worst_key_p99: float
    median_key_p99: float
    fairness: float


LEAST_REQUESTS = 20
"""Of a key whose latency is looked at by itself."""
PATIENCE_SECONDS = 60.0
"""A request without a first token for longer has failed."""


def fleet_figures(work: Work, done: Done, destinations: int, warmup: float = 0.0) -> FleetFigures:
    """Judge a simulation.

    Args:
        work: the requests.
        done: what became of them.
        destinations: number of engines.
        warmup: requests that arrive before this time do not count, seconds.
    """
    counts = work.arrival >= warmup
    ttft = np.where(np.isnan(done.first_token), np.inf, done.first_token - work.arrival)[counts]
    if ttft.size == 0:
        return FleetFigures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    failed = (ttft > PATIENCE_SECONDS) | ~np.isfinite(done.finished[counts])
    where = done.destination[counts]
    loads = np.bincount(where[where != NOWHERE], minlength=destinations)
    tails, slowdowns = _by_key(work.key[counts], ttft)
    prompt = work.prompt[counts]
    return FleetFigures(
        requests=int(ttft.size),
        failed=float(failed.mean()),
        ttft_p50=_percentile(ttft, 50),
        ttft_p99=_percentile(ttft, 99),
        token_hit=float(done.cached[counts].sum() / prompt.sum()),
        imbalance=float(loads.max() / loads.mean()) if loads.sum() else 0.0,
        worst_key_p99=float(tails.max(initial=0.0)),
        median_key_p99=float(np.median(tails)) if tails.size else 0.0,
        fairness=_jain(slowdowns),
    )


def _by_key(key: NDArray[np.int64], ttft: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the 99th percentile and the mean slowdown of each key with enough requests."""
    order = np.argsort(key, kind="stable")
    groups = np.split(ttft[order], np.flatnonzero(np.diff(key[order])) + 1)
    enough = [one for one in groups if one.size >= LEAST_REQUESTS]
    fastest = max(float(ttft.min()), 1e-9)
    tails = np.array([_percentile(one, 99) for one in enough])
    slowdowns = np.array([float(one.mean()) / fastest for one in enough])
    return tails, slowdowns


def _percentile(values: NDArray[np.float64], percent: float) -> float:
    return float(np.percentile(values, percent, method="higher"))


def _jain(values: NDArray[np.float64]) -> float:
    if values.size == 0 or not np.isfinite(values).all():
        return 0.0
    return float(values.sum() ** 2 / (values.size * (values**2).sum()))
