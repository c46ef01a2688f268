"""Reads the gateway's counters out of Envoy's Prometheus text; only our own lines are looked at.

The grammar of label values is that of the text exposition format 0.0.4: backslash, quote and line feed are escaped.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from cacheroute.domain.telemetry import (
    ARM_CACHED_TOKENS,
    ARM_ERRORS,
    ARM_PROMPT_TOKENS,
    ARM_REQUESTS,
    ARM_TTFT,
    LABEL_ARM,
    LABEL_DECISION,
    LABEL_KEY,
    LABEL_PLAN,
    METRIC_PREFIX,
    PROMPT_TOKENS,
    REQUESTS,
    UNCOUNTED,
)
from cacheroute.prom import arms

PROXY = ""
"""Instead of a plan: what a proxy counts of itself."""
DROPPED = (UNCOUNTED, "")
"""The figure of the additions that it dropped."""
_BY_ARM = {
    ARM_REQUESTS: arms.REQUESTS,
    ARM_ERRORS: arms.ERRORS,
    ARM_PROMPT_TOKENS: arms.PROMPT,
    ARM_CACHED_TOKENS: arms.CACHED,
}
_TTFT_BUCKET = f"{ARM_TTFT}_bucket"
_NAMES = "|".join((REQUESTS, PROMPT_TOKENS, *_BY_ARM, _TTFT_BUCKET, UNCOUNTED))

_LINE = re.compile(
    rf"^{METRIC_PREFIX}({_NAMES})\{{([^\n]*)\}} (\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$",
    re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(.)")


def _label(name: str) -> re.Pattern[str]:
    """Match one label; only a label's own quote follows ``=`` without a backslash, so values cannot pose as one."""
    return re.compile(rf'(?:^|,){name}="([^"\\]*(?:\\.[^"\\]*)*)"')


_PLAN, _KEY, _DECISION, _ARM, _BOUND = (
    _label(name) for name in (LABEL_PLAN, LABEL_KEY, LABEL_DECISION, LABEL_ARM, "le")
)


Figure = tuple[str | float, str]
ByKey = dict[str, float]
"""Numbers by the value of the label of the key."""


def _by_decision() -> dict[str, ByKey]:
    return defaultdict(lambda: defaultdict(float))


@dataclass(slots=True)
class PlanCounters:
    """Counters of one plan. Each only grows until the proxy ends or drops it, which it does with one that rests.

    So a key's counters are not added up over decisions: one that was dropped would look like a reset of the sum.

    Attributes:
        requests: by decision, then by key.
        prompt_tokens: likewise.
        figures: by figure and arm; of the time to first token by upper bound and arm, the cumulative buckets.
    """

    requests: dict[str, ByKey] = field(default_factory=_by_decision)
    prompt_tokens: dict[str, ByKey] = field(default_factory=_by_decision)
    figures: dict[Figure, float] = field(default_factory=lambda: defaultdict(float))


def read_counters(text: str) -> dict[str, PlanCounters]:
    """Return the counters by plan, and those of the proxy itself under PROXY."""
    plans: dict[str, PlanCounters] = defaultdict(PlanCounters)
    for match in _LINE.finditer(text):
        name, labels, value = match.groups()
        counters = plans[_value(_PLAN, labels)]
        if name == REQUESTS:
            counters.requests[_value(_DECISION, labels)][_value(_KEY, labels)] += float(value)
        elif name == PROMPT_TOKENS:
            counters.prompt_tokens[_value(_DECISION, labels)][_value(_KEY, labels)] += float(value)
        else:
            counters.figures[_figure(name, labels)] += float(value)
    return plans


def _figure(name: str, labels: str) -> Figure:
    if name == UNCOUNTED:
        return DROPPED
    arm = _value(_ARM, labels)
    return (float(_value(_BOUND, labels) or "inf"), arm) if name == _TTFT_BUCKET else (_BY_ARM[name], arm)


def _value(label: re.Pattern[str], labels: str) -> str:
    match = label.search(labels)
    if match is None:
        return ""
    raw = match[1]
    return _ESCAPE.sub(_unescaped, raw) if "\\" in raw else raw


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
