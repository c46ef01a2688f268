"""What an answer means: rates, or the reason why there are none. Nothing here guesses; a missing rate is never 0."""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from cacheroute.domain.keys import canonical_key
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason, RatesUnavailable, ServedTokens
from cacheroute.domain.spec import PlanSpec
from cacheroute.domain.telemetry import FIGURE, LABEL_ARM, LABEL_KEY
from cacheroute.prom.arms import CACHED, PROMPT, REQUESTS, Numbers, arms

MAX_UNUSABLE_PERCENT = 1
"""Keys without a number are left out and counted up to this share of all keys; above, the whole answer is refused."""
MAX_KEYS = 200_000
"""Keys that are planned for at most, those with the highest rates; the others count as unkeyed."""


class AnswerError(ValueError):
    """An answer is not what the HTTP API of Prometheus promises; the message says where."""


class _Tokens(TypedDict, total=False):
    prompt_tokens: NDArray[np.float64]
    unkeyed_prompt_tokens: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Numbers of one plan, from whichever source.

    Attributes:
        by_key: requests/s by the value of the label of the key; any float.
        reporting: proxies that report.
        time: when, seconds since the epoch.
        tokens_by_key: prompt tokens/s by the value of the label of the key; None where they were not asked for.
        numbers: of each arm over the window, the arm of all other requests is empty.
        uncounted: additions/s that the proxies dropped.
    """

    by_key: Mapping[str, float]
    reporting: int
    time: float
    tokens_by_key: Mapping[str, float] | None = None
    numbers: Numbers = field(default_factory=dict)
    uncounted: float = 0.0


def outcome(spec: PlanSpec, measured: Measured, proxies: int, source: str) -> RatesOutcome:
    """Judge numbers: enough proxies, finite, and any traffic at all."""
    usable = {key: value for key, value in measured.by_key.items() if math.isfinite(value) and value >= 0}
    complaint = (
        _coverage(spec, measured, proxies, source)
        or _finite(measured, usable, source)
        or _traffic(usable, source)
    )
    return complaint or _rates(spec, measured, usable)


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


def _finite(measured: Measured, usable: Mapping[str, float], source: str) -> RatesUnavailable | None:
    bad, total = len(measured.by_key) - len(usable), len(measured.by_key)
    if 100 * bad <= MAX_UNUSABLE_PERCENT * total:
        return None
    key = min(measured.by_key.keys() - usable.keys())
    message = (
        f"{source} gives no rate for {bad} of {total} keys, for instance {measured.by_key[key]} for {key!r}"
    )
    return RatesUnavailable(RatesReason.NOT_FINITE, message[:300])


def _traffic(usable: Mapping[str, float], source: str) -> RatesUnavailable | None:
    if any(usable.values()):
        return None
    return RatesUnavailable(RatesReason.EMPTY, f"{source} has seen no request of this plan in the window")


def _rates(spec: PlanSpec, measured: Measured, usable: Mapping[str, float]) -> Rates:
    plannable = {key for key in usable if canonical_key(key, spec.max_key_length) == key}
    keys = sorted(_most_asked(plannable, usable))
    values = np.array([usable[key] for key in keys], dtype=np.float64)
    cut = len(usable) > MAX_KEYS
    uncounted = measured.uncounted if math.isfinite(measured.uncounted) else 0.0
    return Rates(
        keys=tuple(keys),
        values=values,
        unkeyed=math.fsum(usable[key] for key in usable.keys() - set(keys))
        + (_unseen(spec, measured, usable) if cut or uncounted else 0.0),
        rejected=math.fsum(value for key, value in usable.items() if key and key not in plannable),
        time=measured.time,
        served=_served(spec, measured),
        unusable=len(measured.by_key) - len(usable),
        arms=arms(measured.numbers, spec.rates.window_seconds),
        cut=cut,
        uncounted=uncounted,
        **_tokens(keys, measured.tokens_by_key),
    )


def _unseen(spec: PlanSpec, measured: Measured, usable: Mapping[str, float]) -> float:
    """Return the requests/s that no key's rate contains: they were not counted by key, or the answer was cut."""
    all_requests = _total(measured, REQUESTS) / spec.rates.window_seconds
    return max(0.0, all_requests - math.fsum(usable.values()))


def _total(measured: Measured, figure: str) -> float:
    values = (value for (name, _), value in measured.numbers.items() if name == figure)
    return math.fsum(value for value in values if math.isfinite(value))


def _tokens(keys: Sequence[str], by_key: Mapping[str, float] | None) -> _Tokens:
    """Return the prompt tokens/s of the keys and of all others; a key without a number has none reported."""
    if not by_key:
        return {}
    usable = {key: value for key, value in by_key.items() if math.isfinite(value) and value >= 0}
    return {
        "prompt_tokens": np.array([usable.get(key, 0.0) for key in keys], dtype=np.float64),
        "unkeyed_prompt_tokens": math.fsum(usable[key] for key in usable.keys() - set(keys)),
    }


def _most_asked(plannable: set[str], usable: Mapping[str, float]) -> Iterable[str]:
    """Return the keys that are planned for; between equal rates the first name wins."""
    if len(plannable) <= MAX_KEYS:
        return plannable
    return heapq.nsmallest(MAX_KEYS, plannable, key=lambda key: (-usable[key], key))


def _served(spec: PlanSpec, measured: Measured) -> ServedTokens | None:
    prompt, cached = _total(measured, PROMPT), _total(measured, CACHED)
    if prompt <= 0:
        return None
    return ServedTokens(prompt, min(max(cached, 0.0), prompt), spec.rates.window_seconds)


def vector(result: object) -> dict[str, float]:
    """Read an instant vector that is grouped by key.

    Raises:
        AnswerError: it is no instant vector.
    """
    return {_label(sample): _value(sample) for sample in _samples(result)}


def figures(result: object) -> dict[tuple[str, str], float]:
    """Read an instant vector of figures of arms.

    Raises:
        AnswerError: it is no instant vector.
    """
    return {
        (_text_label(sample, FIGURE), _text_label(sample, LABEL_ARM)): _value(sample)
        for sample in _samples(result)
    }


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
    return _text_label(sample, LABEL_KEY)


def _text_label(sample: Mapping[str, object], name: str) -> str:
    metric = sample.get("metric")
    if not isinstance(metric, Mapping):
        raise AnswerError("a sample has no metric")
    return str(metric.get(name, ""))


def _value(sample: Mapping[str, object]) -> float:
    pair = sample.get("value")
    if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 - a sample is [time, "value"]
        raise AnswerError(f"a sample's value must be [time, text], it is {pair!r}"[:200])
    try:
        return float(pair[1])
    except (TypeError, ValueError) as error:
        raise AnswerError(f"a sample's value is {pair[1]!r}, which is no number"[:200]) from error
