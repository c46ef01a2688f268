"""What the two arms of a comparison measured: requests of admitted keys by plan, and by power of two choices."""

from collections.abc import Sequence
from dataclasses import dataclass

ENOUGH_REQUESTS = 1000
"""Of each arm, before their difference is worth a decision: ten of them are the slowest percent."""


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm, over a window.

    Attributes:
        requests: that ended.
        errors: those of them that ended with 5xx or were broken off on the engine's side.
        prompt_tokens: that engines reported, 0 where they report none.
        cached_tokens: those served from the prefix cache, <= prompt_tokens.
        ttft_p50: median time to first token of streamed answers, milliseconds; None where nothing was streamed.
        ttft_p99: likewise, 99th percentile.
    """

    requests: float
    errors: float
    prompt_tokens: float
    cached_tokens: float
    ttft_p50: float | None
    ttft_p99: float | None

    @property
    def hit_percent(self) -> float | None:
        """Token-weighted prefix-cache hit, percent; None where engines report no tokens."""
        return 100.0 * self.cached_tokens / self.prompt_tokens if self.prompt_tokens > 0 else None

    @property
    def error_percent(self) -> float:
        """Failed share of the requests, percent."""
        return 100.0 * self.errors / self.requests


@dataclass(frozen=True, slots=True)
class Arms:
    """Both arms.

    Attributes:
        plan: requests that were routed by plan; None where there were none.
        flat: requests of admitted keys that were routed by power of two choices; None where there were none.
        window_seconds: over which time, seconds.
    """

    plan: ArmFigures | None
    flat: ArmFigures | None
    window_seconds: int

    def sentence(self) -> str:
        """Return what somebody needs who has to decide between the arms."""
        if self.plan is None or self.flat is None:
            there = "by plan" if self.flat is None else "flat"
            return f"no comparison: all requests of planned keys went {there}; mode Canary has both"
        compared = ", ".join(_compared(self.plan, self.flat))
        remark = (
            "" if min(self.plan.requests, self.flat.requests) >= ENOUGH_REQUESTS else "; too few to decide by"
        )
        return (
            f"plan against flat over {self.window_seconds} s: {compared} "
            f"({self.plan.requests:.0f} against {self.flat.requests:.0f} requests{remark})"
        )


def _compared(plan: ArmFigures, flat: ArmFigures) -> Sequence[str]:
    parts = (
        _part("served token hit", plan.hit_percent, flat.hit_percent, "%.1f %%"),
        _part("TTFT p50", plan.ttft_p50, flat.ttft_p50, "%.0f ms"),
        _part("p99", plan.ttft_p99, flat.ttft_p99, "%.0f ms"),
        _part("errors", plan.error_percent, flat.error_percent, "%.2f %%"),
    )
    return [part for part in parts if part]


def _part(name: str, plan: float | None, flat: float | None, form: str) -> str:
    if plan is None or flat is None:
        return ""
    return f"{name} {form % plan} against {form % flat}"
