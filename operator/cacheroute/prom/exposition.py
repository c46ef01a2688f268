"""Reads the gateway's counters out of Envoy's Prometheus text; only our own lines are looked at.

The grammar of label values is that of the text exposition format 0.0.4: backslash, quote and line feed are escaped.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
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
    rf"^{METRIC_PREFIX}({REQUESTS}|{PROMPT_TOKENS}|{CACHED_TOKENS})\{{([^\n]*)\}} ([0-9.eE+]+)$", re.MULTILINE
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


@dataclass(slots=True)
class PlanCounters:
    """Counters of one plan, summed over decisions; they only grow while the proxy lives.

    Attributes:
        requests: by the value of the label of the key.
        prompt_tokens: of all keys.
        cached_tokens: of all keys.
    """

    requests: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    prompt_tokens: float = 0.0
    cached_tokens: float = 0.0


def read_counters(text: str) -> dict[str, PlanCounters]:
    """Return the counters by plan."""
    plans: dict[str, PlanCounters] = defaultdict(PlanCounters)
    for name, labels, value in _lines(text):
        counters = plans[labels.get(LABEL_PLAN, "")]
        if name == REQUESTS:
            counters.requests[labels.get(LABEL_KEY, "")] += value
        elif name == PROMPT_TOKENS:
            counters.prompt_tokens += value
        else:
            counters.cached_tokens += value
    return plans


def _lines(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for match in _LINE.finditer(text):
        name, labels, value = match.groups()
        yield name, {key: _unescaped(raw) for key, raw in _LABEL.findall(labels)}, float(value)


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], raw)
