"""Observed per-key request rates, or the reason why there are none. A missing rate is never a rate of zero."""

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.domain.arms import Arms


class RatesReason(enum.StrEnum):
    """Why rates are, or are not, available (reasons of the condition RatesAvailable)."""

    MEASURED = "Measured"
    NOT_ASKED = "NotAskedYet"
    UNREACHABLE = "SourceUnreachable"
    TIMEOUT = "Timeout"
    REFUSED = "QueryRefused"
    MALFORMED = "MalformedAnswer"
    EMPTY = "NoTraffic"
    STALE = "Stale"
    PARTIAL = "Partial"
    NOT_FINITE = "NotFinite"


@dataclass(frozen=True, slots=True)
class ServedTokens:
    """Tokens that the engines reported over the window, as the gateway saw them.

    Attributes:
        prompt_tokens: prompt tokens, > 0.
        cached_tokens: those served from the prefix cache, <= prompt_tokens.
        window_seconds: over which time, seconds.
    """

    prompt_tokens: float
    cached_tokens: float
    window_seconds: int

    @property
    def hit_percent(self) -> float:
        """Token-weighted prefix-cache hit, percent."""
        return 100.0 * self.cached_tokens / self.prompt_tokens


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Per-key rates.

    Attributes:
        keys: canonical keys in bytewise order, unique.
        values: float64[len(keys)], requests/s, finite, >= 0.
        unkeyed: rate of requests without a plannable key, requests/s.
        rejected: the part of ``unkeyed`` whose key was too long or outside the alphabet, requests/s.
        time: when it was measured, seconds since the epoch.
        served: tokens over the same window, None where the engines do not report them.
        unusable: keys left out because the source gave them no number that is a rate.
        prompt_tokens: float64[len(keys)], prompt tokens/s, finite, >= 0; None where the engines do not report them.
        unkeyed_prompt_tokens: prompt tokens/s of requests without a plannable key.
        arms: what was measured of both arms over the same window; None where there was none.
        cut: whether there were more keys than are planned for; those with the lowest rates are in ``unkeyed``.
        uncounted: additions/s that the proxies dropped, because they keep as many counters as they may.
    """

    keys: tuple[str, ...]
    values: NDArray[np.float64]
    unkeyed: float
    rejected: float
    time: float
    served: ServedTokens | None = None
    unusable: int = 0
    prompt_tokens: NDArray[np.float64] | None = None
    unkeyed_prompt_tokens: float = 0.0
    arms: Arms | None = None
    cut: bool = False
    uncounted: float = 0.0


@dataclass(frozen=True, slots=True)
class RatesUnavailable:
    """No rates, and why: one line that names the source and what to do."""

    reason: RatesReason
    message: str


RatesOutcome = Rates | RatesUnavailable
