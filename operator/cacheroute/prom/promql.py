"""The PromQL that is asked, as pure strings. Everything that users name is escaped."""

from cacheroute.domain.spec import PlanSpec
from cacheroute.domain.telemetry import (
    CACHED_TOKENS,
    LABEL_GATEWAY,
    LABEL_KEY,
    LABEL_PLAN,
    LIVE,
    PROMPT_TOKENS,
    REQUESTS,
    exported,
)


def quoted(value: str) -> str:
    r"""Return ``value`` as a PromQL string literal: backslash, quote and line breaks are escaped."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n").replace("\r", r"\r")
    return f'"{escaped}"'


def key_rates(spec: PlanSpec) -> str:
    """Ask for the request rate of each key of a plan, requests/s."""
    return f"sum by ({LABEL_KEY}) (rate({_series(REQUESTS, spec)}[{spec.rates.window_seconds}s]))"


def key_tokens(spec: PlanSpec) -> str:
    """Ask for the prompt tokens of each key of a plan, tokens/s."""
    return f"sum by ({LABEL_KEY}) (rate({_series(PROMPT_TOKENS, spec)}[{spec.rates.window_seconds}s]))"


def reporting_proxies(spec: PlanSpec) -> str:
    """Ask how many proxies of a plan's gateway are scraped now."""
    return f"count({exported(LIVE)}{{{LABEL_GATEWAY}={quoted(spec.gateway)}}} == 1)"


def prompt_tokens(spec: PlanSpec) -> str:
    """Ask for the prompt tokens that engines reported over the window."""
    return _increase(PROMPT_TOKENS, spec)


def cached_tokens(spec: PlanSpec) -> str:
    """Ask for the prompt tokens that engines served from their cache over the window."""
    return _increase(CACHED_TOKENS, spec)


def _increase(counter: str, spec: PlanSpec) -> str:
    return f"sum(increase({_series(counter, spec)}[{spec.rates.window_seconds}s]))"


def _series(counter: str, spec: PlanSpec) -> str:
    return f"{exported(counter)}{{{LABEL_PLAN}={quoted(str(spec.ref))}}}"
