"""What one step decides, with its reasons; everything users see is printed from here, never derived again."""

import enum
from dataclasses import dataclass

from cacheroute.domain.conditions import Condition
from cacheroute.domain.plan import Plan


class Outcome(enum.StrEnum):
    """What happened to the plan in force."""

    INSTALLED = "Installed"
    """A newly computed plan replaced it."""
    REPAIRED = "Repaired"
    """Seats were vacated or filled; the assignment stayed."""
    HELD = "Held"
    """It stays although a new plan was due."""
    UNCHANGED = "Unchanged"
    """Nothing to change."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Keys whose destinations changed.

    Attributes:
        keys: number of keys that got or lost a destination.
        rate_percent: share of the measured request rate that lands on a destination newly given to its key.
    """

    keys: int = 0
    rate_percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell once (a Kubernetes Event).

    Attributes:
        warning: whether somebody should look.
        reason: CamelCase word for programs.
        message: one line for people.
    """

    warning: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of one step for one RoutingPlan.

    Attributes:
        plan: in force after the step; None before the first plan.
        outcome: what happened to it.
        reason: CamelCase word for programs.
        message: one line for people.
        moved: by this step.
        conditions: all of them, in the order of ConditionType.
        notices: what to tell once.
    """

    plan: Plan | None
    outcome: Outcome
    reason: str
    message: str
    moved: Moved
    conditions: tuple[Condition, ...]
    notices: tuple[Notice, ...] = ()
