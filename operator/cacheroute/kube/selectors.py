"""Label selectors with the semantics of Kubernetes (metav1.LabelSelector)."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Operator(enum.StrEnum):
    """How an expression compares."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Expression:
    """One requirement.

    Attributes:
        key: of the label.
        operator: how it compares.
        values: for In and NotIn at least one, else none.
    """

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether ``labels`` meet the requirement; NotIn is met by an absent label."""
        if self.operator is Operator.EXISTS:
            return self.key in labels
        if self.operator is Operator.DOES_NOT_EXIST:
            return self.key not in labels
        among = labels.get(self.key) in self.values
        return among if self.operator is Operator.IN else not among


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that all must hold; without any it matches everything.

    Attributes:
        labels: (key, value) that must be there.
        expressions: further requirements.
    """

    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether ``labels`` meet every requirement."""
        return all(labels.get(key) == value for key, value in self.labels) and all(
            expression.matches(labels) for expression in self.expressions
        )
