"""The outcome of a demonstration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cacheroute.demo.tally import Fate, Figures, Record

WANTED_POINTS = 15.0
COMPLAINTS = 3
"""So many failures are told in full."""


@dataclass(frozen=True, slots=True)
class Failover:
    """What happened when an engine was killed.

    Attributes:
        engine: which one.
        figures: of the whole phase.
        keys: that it served.
        keys_moved: keys that got another destination.
        keys_away: keys that were elsewhere than before once it was back.
        repair_seconds: from the signal to the repaired plan.
    """

    engine: str
    figures: Figures
    keys: int
    keys_moved: int
    keys_away: int
    repair_seconds: float


@dataclass(frozen=True, slots=True)
class Damage:
    """Requests that were not answered.

    Attributes:
        failed: requests that failed, in all phases.
        cut: streams that the killed engine had begun.
        cut_before_first_token: of those, with headers sent but no token yet.
        complaints: why requests failed, the first few.
    """

    failed: int
    cut: int
    cut_before_first_token: int
    complaints: tuple[str, ...]


def damage(records: Sequence[Record]) -> Damage:
    """Count what was not answered."""
    failed = [one for one in records if one.fate is Fate.FAILED]
    cut = [one for one in records if one.fate is Fate.CUT]
    return Damage(
        failed=len(failed),
        cut=len(cut),
        cut_before_first_token=sum(math.isnan(one.first_token) for one in cut),
        complaints=tuple(f"{one.phase}: {one.complaint}" for one in failed[:COMPLAINTS]),
    )


@dataclass(frozen=True, slots=True)
class Result:
    """What `cacheroute demo` found.

    Attributes:
        flat: figures of power-of-two-choices.
        planned: figures of the plan.
        failover: what a killed engine did.
        damage: what was not answered.
        tenants: how many different ones were answered.
        seconds: of the whole run.
        setup: how it was set up.
    """

    flat: Figures
    planned: Figures
    failover: Failover
    damage: Damage
    tenants: int
    seconds: float
    setup: dict[str, Any]

    @property
    def points(self) -> float:
        """How much higher the served token hit is, percentage points."""
        return self.planned.hit_percent - self.flat.hit_percent

    @property
    def good(self) -> bool:
        """Whether planned beats flat by WANTED_POINTS and no request failed."""
        return self.points >= WANTED_POINTS and self.damage.failed == 0

    def document(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        failover, harm = self.failover, self.damage
        return {
            "good": self.good,
            "flat": figures_document(self.flat),
            "planned": figures_document(self.planned),
            "failover": {
                **figures_document(failover.figures),
                "engine": failover.engine,
                "keys": failover.keys,
                "keysAwayAfterReturn": failover.keys_away,
                "repairSeconds": round(failover.repair_seconds, 2),
            },
            "hitPoints": round(self.points, 1),
            "failedRequests": harm.failed,
            "cutStreams": harm.cut,
            "cutBeforeFirstToken": harm.cut_before_first_token,
            "keysMoved": failover.keys_moved,
            "tenantsServed": self.tenants,
            "seconds": round(self.seconds, 1),
            "setup": self.setup,
            "complaints": list(harm.complaints),
        }


def figures_document(figures: Figures) -> dict[str, Any]:
    """Return figures as JSON types."""
    return {
        "requests": figures.requests,
        "hitPercent": round(figures.hit_percent, 1),
        "maxOverMean": round(figures.max_over_mean, 3),
        "ttftP50Ms": _milliseconds(figures.ttft_p50_ms),
        "ttftP99Ms": _milliseconds(figures.ttft_p99_ms),
        "lagP99Ms": _milliseconds(figures.lag_p99_ms),
        "decisions": figures.decisions,
    }


def _milliseconds(value: float) -> float | None:
    """Return the value rounded; None, which JSON can spell, where there is none."""
    return None if math.isnan(value) else round(value, 1)
