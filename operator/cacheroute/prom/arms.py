"""Figures of the arms from numbers by name and arm, whichever source they come from."""

import math
from collections.abc import Mapping
from itertools import pairwise

from cacheroute.domain.arms import ArmFigures, Arms
from cacheroute.domain.table import Arm

REQUESTS, ERRORS, PROMPT, CACHED = "requests", "errors", "prompt_tokens", "cached_tokens"
TTFT_P50, TTFT_P99 = "ttft_p50", "ttft_p99"
Numbers = Mapping[tuple[str, str], float]
"""(figure, arm) → number over the window; quantiles in milliseconds. What is missing was not measured."""


def arms(numbers: Numbers, window_seconds: int) -> Arms | None:
    """Return the figures of both arms, None where no request of an admitted key was counted."""
    plan, flat = _figures(numbers, Arm.PLAN), _figures(numbers, Arm.FLAT)
    return Arms(plan, flat, window_seconds) if plan or flat else None


def _figures(numbers: Numbers, arm: Arm) -> ArmFigures | None:
    def number(figure: str) -> float | None:
        value = numbers.get((figure, arm))
        return value if value is not None and math.isfinite(value) and value >= 0 else None

    requests = number(REQUESTS)
    if not requests:
        return None
    prompt = number(PROMPT) or 0.0
    return ArmFigures(
        requests=requests,
        errors=min(number(ERRORS) or 0.0, requests),
        prompt_tokens=prompt,
        cached_tokens=min(number(CACHED) or 0.0, prompt),
        ttft_p50=number(TTFT_P50),
        ttft_p99=number(TTFT_P99),
    )


def quantile(buckets: Mapping[float, float], share: float) -> float | None:
    """Return a quantile of a cumulative histogram as PromQL's histogram_quantile does; None where it is empty.

    Args:
        buckets: upper bound → observations up to it; the greatest bound is infinity.
        share: 0..1.
    """
    bounds = sorted(buckets)
    if not bounds or buckets[bounds[-1]] <= 0:
        return None
    wanted = share * buckets[bounds[-1]]
    for lower, upper in pairwise((0.0, *bounds)):
        if buckets[upper] >= wanted:
            return _interpolated(buckets, lower, upper, wanted)
    return None


def _interpolated(buckets: Mapping[float, float], lower: float, upper: float, wanted: float) -> float:
    if math.isinf(upper):
        return lower
    below = buckets.get(lower, 0.0)
    inside = buckets[upper] - below
    return lower + (upper - lower) * (wanted - below) / inside if inside > 0 else upper
