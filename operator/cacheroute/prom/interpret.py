"""What an answer means: rates, or the reason why there are none. Nothing here guesses; a missing rate is never 0."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from cacheroute.domain.keys import canonical_key
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason, RatesUnavailable, ServedTokens
from cacheroute.domain.spec import PlanSpec
from cacheroute.domain.telemetry import LABEL_KEY


class AnswerError(ValueError):
    """An answer is not what the HTTP API of Prometheus promises; the message says where."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Numbers of one plan, from whichever source.

    Attributes:
        by_key: requests/s by the value of the label of the key; any float.
        reporting: proxies that report.
        prompt_tokens: over the window; None where unknown.
        cached_tokens: over the window; None where unknown.
        time: when, seconds since the epoch.
    """

    by_key: Mapping[str, float]
    reporting: int
    prompt_tokens: float | None
    cached_tokens: float | None
    time: float


def outcome(spec: PlanSpec, measured: Measured, proxies: int, source: str) -> RatesOutcome:
    """Judge numbers: enough proxies, finite, and any traffic at all."""
    complaint = (
        _coverage(spec, measured, proxies, source) or _finite(measured, source) or _traffic(measured, source)
    )
    return complaint or _rates(spec, measured)


def _coverage(spec: PlanSpec, measured: Measured, proxies: int, source: str) -> RatesUnavailable | None:
    if measured.reporting == 0:
        message = f"{source} has no current counters of gateway {spec.gateway!r}; is it scraping the proxies?"
        return RatesUnavailable(RatesReason.STALE, message)
    if 100 * measured.reporting < spec.rates.min_coverage_percent * proxies:
        message = (
            f"{source} has counters of {measured.reporting} of {proxies} proxies of gateway {spec.gateway!r}, "
            f"spec.rates.minCoveragePercent asks for {spec.rates.min_coverage_percent} %"
        )
        return RatesUnavailable(RatesReason.PARTIAL, message)
    return None


def _finite(measured: Measured, source: str) -> RatesUnavailable | None:
    bad = [key for key, value in measured.by_key.items() if not (math.isfinite(value) and value >= 0)]
    if not bad:
        return None
    message = f"{source} gives {measured.by_key[bad[0]]} for key {bad[0]!r} and {len(bad) - 1} more are no rate either"
    return RatesUnavailable(RatesReason.NOT_FINITE, message)


def _traffic(measured: Measured, source: str) -> RatesUnavailable | None:
    if any(measured.by_key.values()):
        return None
    return RatesUnavailable(RatesReason.EMPTY, f"{source} has seen no request of this plan in the window")


def _rates(spec: PlanSpec, measured: Measured) -> Rates:
    planned = {
        key: value for key, value in measured.by_key.items() if canonical_key(key, spec.max_key_length) == key
    }
    others = {key: value for key, value in measured.by_key.items() if key not in planned}
    keys = tuple(sorted(planned))
    return Rates(
        keys=keys,
        values=np.array([planned[key] for key in keys], dtype=np.float64),
        unkeyed=sum(others.values()),
        rejected=sum(value for key, value in others.items() if key),
        time=measured.time,
        served=_served(spec, measured),
    )


def _served(spec: PlanSpec, measured: Measured) -> ServedTokens | None:
    prompt, cached = measured.prompt_tokens, measured.cached_tokens
    if prompt is None or not math.isfinite(prompt) or prompt <= 0:
        return None
    known = cached if cached is not None and math.isfinite(cached) else 0.0
    return ServedTokens(prompt, min(max(known, 0.0), prompt), spec.rates.window_seconds)


def vector(result: object) -> dict[str, float]:
    """Read an instant vector that is grouped by key.

    Raises:
        AnswerError: it is no instant vector.
    """
    return {_label(sample): _value(sample) for sample in _samples(result)}


def scalar(result: object) -> float | None:
    """Read an instant vector of at most one sample, None where it is empty.

    Raises:
        AnswerError: it is no instant vector, or has several samples.
    """
    values = [_value(sample) for sample in _samples(result)]
    if len(values) > 1:
        raise AnswerError(f"one value was asked for, {len(values)} came")
    return values[0] if values else None


def _samples(result: object) -> Iterable[Mapping[str, object]]:
    if not isinstance(result, list):
        raise AnswerError(f"the result must be a list of samples, it is {type(result).__name__}")
    for number, sample in enumerate(result):
        if not isinstance(sample, Mapping):
            raise AnswerError(f"sample {number} must be an object, it is {type(sample).__name__}")
        yield sample


def _label(sample: Mapping[str, object]) -> str:
    metric = sample.get("metric")
    if not isinstance(metric, Mapping):
        raise AnswerError("a sample has no metric")
    return str(metric.get(LABEL_KEY, ""))


def _value(sample: Mapping[str, object]) -> float:
    pair = sample.get("value")
    if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 - a sample is [time, "value"]
        raise AnswerError(f"a sample's value must be [time, text], it is {pair!r}"[:200])
    try:
        return float(pair[1])
    except (TypeError, ValueError) as error:
        raise AnswerError(f"a sample's value is {pair[1]!r}, which is no number"[:200]) from error
