"""Reads the gateway's counters out of Envoy's Prometheus text; only our own lines are looked at.

The grammar of label values is that of the text exposition format 0.0.4: backslash, quote and line feed are escaped.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from cacheroute.domain.telemetry import (
    CACHED_TOKENS,
    LABEL_KEY,
    LABEL_PLAN,
    METRIC_PREFIX,
    PROMPT_TOKENS,
    REQUESTS,
)

_LINE = re.compile(
    rf"^{METRIC_PREFIX}({REQUESTS}|{PROMPT_TOKENS}|{CACHED_TOKENS})\{{([^\n]*)\}} (\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$",
    re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(.)")


def _label(name: str) -> re.Pattern[str]:
    """Match one label; only a label's own quote follows ``=`` without a backslash, so values cannot pose as one."""
    return re.compile(rf'(?:^|,){name}="([^"\\]*(?:\\.[^"\\]*)*)"')


_PLAN, _KEY = _label(LABEL_PLAN), _label(LABEL_KEY)


@dataclass(slots=True)
class PlanCounters:
    """Counters of one plan, summed over decisions; they only grow while the proxy lives.

    Attributes:
        requests: by the value of the label of the key.
        prompt_tokens: likewise.
        cached_tokens: of all keys.
    """

    requests: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    prompt_tokens: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    cached_tokens: float = 0.0


def read_counters(text: str) -> dict[str, PlanCounters]:
    """Return the counters by plan."""
    plans: dict[str, PlanCounters] = defaultdict(PlanCounters)
    for match in _LINE.finditer(text):
        name, labels, value = match.groups()
        counters = plans[_value(_PLAN, labels)]
        if name == REQUESTS:
            counters.requests[_value(_KEY, labels)] += float(value)
        elif name == PROMPT_TOKENS:
            counters.prompt_tokens[_value(_KEY, labels)] += float(value)
        else:
            counters.cached_tokens += float(value)
    return plans


def _value(label: re.Pattern[str], labels: str) -> str:
    match = label.search(labels)
    if match is None:
        return ""
    raw = match[1]
    return _ESCAPE.sub(_unescaped, raw) if "\\" in raw else raw


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
