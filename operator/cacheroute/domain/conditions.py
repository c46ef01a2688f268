"""Conditions of a RoutingPlan (Kubernetes API conventions, metav1.Condition) as values."""

import enum
from dataclasses import dataclass


class ConditionType(enum.StrEnum):
    """Every condition that a RoutingPlan has from the first visit on."""

    ACCEPTED = "Accepted"
    DESTINATIONS_READY = "DestinationsReady"
    RATES_AVAILABLE = "RatesAvailable"
    PLANNED = "Planned"
    SYNCED = "Synced"
    READY = "Ready"


class ConditionStatus(enum.StrEnum):
    """Status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; times and observedGeneration are added where it is written.

    Attributes:
        type: which.
        status: True, False or Unknown.
        reason: CamelCase word for programs.
        message: one line for people: what, on which object, what to do.
    """

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str
