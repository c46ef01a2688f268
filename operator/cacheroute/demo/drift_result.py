"""The outcome of `cacheroute demo --drift`."""

from dataclasses import dataclass
from typing import Any

from cacheroute.demo.ledger import Arm, Row
from cacheroute.demo.result import Damage, figures_document

WANTED_GAIN = 5.0
"""Percentage points of served token hit."""


@dataclass(frozen=True, slots=True)
class DriftResult:
    """What was found.

    Attributes:
        stable: policy Stable.
        paper: policy Paper.
        damage: what was not answered, in all intervals of both.
        seconds: of the whole run.
        setup: how it was set up.
    """

    stable: Arm
    paper: Arm
    damage: Damage
    seconds: float
    setup: dict[str, Any]

    @property
    def gain(self) -> float:
        """How much higher the served token hit of Stable is, percentage points."""
        return self.stable.figures.hit_percent - self.paper.figures.hit_percent

    @property
    def good(self) -> bool:
        """Whether Stable beats Paper by WANTED_GAIN and no request failed."""
        return self.gain >= WANTED_GAIN and self.damage.failed == 0

    def document(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        return {
            "good": self.good,
            "stable": _arm(self.stable),
            "paper": _arm(self.paper),
            "gainPoints": round(self.gain, 1),
            "intervals": len(self.stable.rows),
            "failedRequests": self.damage.failed,
            "seconds": round(self.seconds, 1),
            "setup": self.setup,
            "complaints": list(self.damage.complaints),
        }


def _arm(arm: Arm) -> dict[str, Any]:
    return {
        **figures_document(arm.figures),
        "maxOverMean": round(arm.max_over_mean, 3),
        "keysMovedPerInterval": round(arm.moved, 1),
        "keysMovedPercentPerInterval": round(arm.moved_percent, 1),
        "keysAdmittedPerInterval": round(arm.admitted, 1),
        "coldRatePercentPerInterval": round(arm.cold_percent, 1),
        "failedRequests": arm.failed,
        "perInterval": [_row(row) for row in arm.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "hitPercent": round(row.figures.hit_percent, 1),
        "maxOverMean": round(row.figures.max_over_mean, 3),
        "requests": row.figures.requests,
        "keysPlanned": row.shift.keys,
        "keysMoved": row.shift.moved,
        "keysAdmitted": row.shift.admitted,
        "coldRatePercent": round(row.shift.cold_percent, 1),
        "causes": row.shift.causes,
        "planner": row.shift.phases,
    }
