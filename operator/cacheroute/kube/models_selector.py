"""The label selector of a RoutingPlan as a model."""

import re
from typing import Annotated, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from cacheroute.kube.schema import Model, list_type, rule, rules
from cacheroute.kube.selectors import Expression, Operator, Selector

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_LABEL_KEY = rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}"
_VALUES = "values is needed by In and NotIn and must be absent for Exists and DoesNotExist"

LabelKey = Annotated[str, Field(min_length=1, max_length=317, pattern=f"^{_LABEL_KEY}$")]
LabelValue = Annotated[str, Field(max_length=63, pattern=f"^({_NAME})?$")]


class ExpressionModel(Model):
    """One requirement of a label selector."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 "
                ": !has(self.values) || size(self.values) == 0",
                _VALUES,
            )
        )
    )

    key: LabelKey = Field(description="Label that the requirement is about.")
    operator: Operator = Field(
        description="In and NotIn compare with values (NotIn also holds where the label is absent); "
        "Exists and DoesNotExist look for the label alone."
    )
    values: tuple[LabelValue, ...] = Field(
        default=(),
        max_length=64,
        description="Values for In and NotIn.",
        json_schema_extra=list_type("atomic"),
    )

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        if (self.operator in (Operator.IN, Operator.NOT_IN)) != bool(self.values):
            raise ValueError(_VALUES)
        return self

    def to_expression(self) -> Expression:
        """Return the requirement as a value."""
        return Expression(self.key, self.operator, frozenset(self.values))


class SelectorModel(Model):
    """A label selector; all requirements must hold."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-map-type": "atomic"})

    match_labels: dict[str, LabelValue] = Field(
        default_factory=dict, max_length=32, description="Labels that must have exactly these values."
    )
    match_expressions: tuple[ExpressionModel, ...] = Field(
        default=(),
        max_length=32,
        description="Further requirements.",
        json_schema_extra=list_type("atomic"),
    )

    @field_validator("match_labels")
    @classmethod
    def _keys_are_label_keys(cls, labels: dict[str, str]) -> dict[str, str]:
        bad = next((key for key in labels if re.fullmatch(_LABEL_KEY, key) is None), None)
        if bad is not None:
            raise ValueError(f"{bad!r} is no label key")
        return labels

    def to_selector(self) -> Selector:
        """Return the selector as a value."""
        expressions = tuple(one.to_expression() for one in self.match_expressions)
        return Selector(tuple(sorted(self.match_labels.items())), expressions)


_SOMETHING = (
    "matchLabels or matchExpressions is needed: an empty selector would take every pod of the namespace"
)


class PodSelectorModel(SelectorModel):
    """A label selector that must not be empty."""

    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-map-type": "atomic",
            **rules(
                rule(
                    "has(self.matchLabels) && size(self.matchLabels) > 0 "
                    "|| has(self.matchExpressions) && size(self.matchExpressions) > 0",
                    _SOMETHING,
                )
            ),
        }
    )

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.match_labels and not self.match_expressions:
            raise ValueError(_SOMETHING)
        return self
