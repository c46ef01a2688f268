"""Choices of policy ``Stable``."""

import enum
from dataclasses import dataclass


class AdmissionRule(enum.StrEnum):
    """What warm slots are given for."""

    RATE = "Rate"
    """The highest rates; a key takes k_b of the C warm slots."""
    BYTES = "Bytes"
    """The most prefill saved for the KV-cache tokens that a key's prefix takes."""


@dataclass(frozen=True, slots=True)
class StableOptions:
    """Choices.

    Attributes:
        imbalance: ε, how far above the mean a destination may be; > 0.
        budget: share of the request rate that rebalancing may move in one interval, 0..1.
        hysteresis: 0..1, exclusive; see the phases.
        admission: what warm slots are given for.
        interval: control interval, seconds, over which benefit and cost of a change are compared.
        weigh: hold optional changes that do not pay; else install all.
        repairs_only: replace destinations that are gone and change nothing else, whatever was fixed meanwhile.
    """

    imbalance: float = 0.10
    budget: float = 0.05
    hysteresis: float = 0.20
    admission: AdmissionRule = AdmissionRule.RATE
    interval: float = 60.0
    weigh: bool = True
    repairs_only: bool = False

    @property
    def loss_limit(self) -> float:
        """Imbalance after a single loss that is accepted before standbys are spread anew: 1 + 1.5 ε."""
        return 1.0 + 1.5 * self.imbalance


DEFAULT_OPTIONS = StableOptions()
