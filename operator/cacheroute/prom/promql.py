"""The PromQL that is asked, as pure strings. Everything that users name is escaped."""

from cacheroute.domain.spec import PlanSpec
from cacheroute.domain.telemetry import (
    ARM_CACHED_TOKENS,
    ARM_ERRORS,
    ARM_PROMPT_TOKENS,
    ARM_REQUESTS,
    ARM_TTFT,
    FIGURE,
    LABEL_ARM,
    LABEL_GATEWAY,
    LABEL_KEY,
    LABEL_PLAN,
    LIVE,
    PROMPT_TOKENS,
    REQUESTS,
    UNCOUNTED,
    exported,
)
from cacheroute.prom.arms import CACHED, ERRORS, PROMPT, TTFT_P50, TTFT_P99
from cacheroute.prom.arms import REQUESTS as ALL_REQUESTS

MAX_KEYS_ASKED = 200_001
"""One more than are planned for, so that it shows when there are more."""
UNCOUNTED_FIGURE = "uncounted"
_INCREASES = {
    ALL_REQUESTS: ARM_REQUESTS,
    ERRORS: ARM_ERRORS,
    PROMPT: ARM_PROMPT_TOKENS,
    CACHED: ARM_CACHED_TOKENS,
}
_QUANTILES = {TTFT_P50: 0.5, TTFT_P99: 0.99}


def quoted(value: str) -> str:
    r"""Return ``value`` as a PromQL string literal: backslash, quote and line breaks are escaped."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n").replace("\r", r"\r")
    return f'"{escaped}"'


def key_rates(spec: PlanSpec) -> str:
    """Ask for the request rate of each key of a plan, requests/s; of the busiest where clients invent keys."""
    return _by_key(REQUESTS, spec)


def key_tokens(spec: PlanSpec) -> str:
    """Ask for the prompt tokens of each key of a plan, tokens/s."""
    return _by_key(PROMPT_TOKENS, spec)


def reporting_proxies(spec: PlanSpec) -> str:
    """Ask how many proxies of a plan's gateway are scraped now."""
    return f"count({_of_gateway(LIVE, spec)} == 1)"


def figures(spec: PlanSpec) -> str:
    """Ask for all figures of a plan's arms over the window, and for the additions/s that its proxies dropped."""
    window = spec.rates.window_seconds
    parts = [
        *(
            _figure(f"sum by ({LABEL_ARM}) (increase({_series(counter, spec)}[{window}s]))", figure)
            for figure, counter in _INCREASES.items()
        ),
        *(_figure(_quantile(share, spec), figure) for figure, share in _QUANTILES.items()),
        _figure(_uncounted(spec), UNCOUNTED_FIGURE),
    ]
    return " or ".join(parts)


def _figure(query: str, name: str) -> str:
    return f'label_replace({query}, "{FIGURE}", "{name}", "", "")'


def _quantile(share: float, spec: PlanSpec) -> str:
    buckets = f"{_series(ARM_TTFT + '_bucket', spec)}[{spec.rates.window_seconds}s]"
    return f"histogram_quantile({share}, sum by ({LABEL_ARM}, le) (rate({buckets})))"


def _uncounted(spec: PlanSpec) -> str:
    """Envoy puts no label on this counter, so the proxies of the gateway are found by their scrape's ``instance``."""
    dropped = f"rate({exported(UNCOUNTED)}[{spec.rates.window_seconds}s])"
    return f"sum({dropped} and on (instance) {_of_gateway(LIVE, spec)})"


def _by_key(counter: str, spec: PlanSpec) -> str:
    rates = f"sum by ({LABEL_KEY}) (rate({_series(counter, spec)}[{spec.rates.window_seconds}s]))"
    return f"topk({MAX_KEYS_ASKED}, {rates})"


def _of_gateway(name: str, spec: PlanSpec) -> str:
    return f"{exported(name)}{{{LABEL_GATEWAY}={quoted(spec.gateway)}}}"


def _series(counter: str, spec: PlanSpec) -> str:
    return f"{exported(counter)}{{{LABEL_PLAN}={quoted(str(spec.ref))}}}"
