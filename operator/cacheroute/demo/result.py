"""The outcome of a demonstration."""

from dataclasses import dataclass
from typing import Any

from cacheroute.demo.tally import Figures

WANTED_POINTS = 15.0


@dataclass(frozen=True, slots=True)
class Result:
    """What `cacheroute demo` found.

    Attributes:
        flat: figures of power-of-two-choices.
        planned: figures of the plan.
        failed_requests: in all phases.
        cut_streams: streams that the killed engine had begun.
        keys_moved: keys that got another destination when an engine was killed.
        keys_of_killed: keys that the killed engine had.
        seconds: of the whole run.
        setup: how it was set up.
        complaints: why requests failed, the first few.
    """

    flat: Figures
    planned: Figures
    failed_requests: int
    cut_streams: int
    keys_moved: int
    keys_of_killed: int
    seconds: float
    setup: dict[str, Any]
    complaints: tuple[str, ...]

    @property
    def points(self) -> float:
        """How much higher the served token hit is, percentage points."""
        return self.planned.hit_percent - self.flat.hit_percent

    @property
    def good(self) -> bool:
        """Whether planned beats flat by WANTED_POINTS and no request failed."""
        return self.points >= WANTED_POINTS and self.failed_requests == 0

    def document(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        return {
            "good": self.good,
            "flat": _figures(self.flat),
            "planned": _figures(self.planned),
            "hitPoints": round(self.points, 1),
            "failedRequests": self.failed_requests,
            "cutStreams": self.cut_streams,
            "keysMoved": self.keys_moved,
            "keysOfKilled": self.keys_of_killed,
            "seconds": round(self.seconds, 1),
            "setup": self.setup,
            "complaints": list(self.complaints),
        }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "requests": figures.requests,
        "hitPercent": round(figures.hit_percent, 1),
        "maxOverMean": round(figures.max_over_mean, 3),
        "ttftP50Ms": round(figures.ttft_p50_ms, 1),
        "ttftP99Ms": round(figures.ttft_p99_ms, 1),
        "lagP99Ms": round(figures.lag_p99_ms, 1),
        "decisions": figures.decisions,
    }
