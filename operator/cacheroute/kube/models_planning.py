"""spec.planning and spec.overrides: how plans are made, and what is fixed for single keys."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from cacheroute.domain.keys import KEY_PATTERN, MAX_KEY_LENGTH
from cacheroute.domain.spec import Balance, Override, OverrideRoute, PlanningSpec, PolicyName
from cacheroute.kube.schema import Integer, Model, rule, rules
from cacheroute.planning.options import AdmissionRule

_DEFAULTS = PlanningSpec()
_SAYS_SOMETHING = "an override needs route or destinations"
_COLD_HAS_NONE = "a key with route Cold has no destinations"

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY_LENGTH, pattern=KEY_PATTERN)]


class PlanningModel(Model):
    """How plans are made."""

    policy: PolicyName = Field(
        default=_DEFAULTS.policy,
        description="Stable: from the plan in force, with few moves that pay. Paper: Algorithm 1 of CacheRoute, from "
        "scratch each interval; it moves nearly every key each time.",
    )
    interval_seconds: Integer = Field(
        default=_DEFAULTS.interval_seconds,
        ge=1,
        le=3600,
        description="Time from one plan to the next, seconds.",
    )
    max_imbalance_percent: Integer = Field(
        default=_DEFAULTS.max_imbalance_percent,
        ge=1,
        le=100,
        description="How far above the mean a destination may be loaded before keys move away, percent. Stable only.",
    )
    rewarm_budget_percent: Integer = Field(
        default=_DEFAULTS.rewarm_budget_percent,
        ge=0,
        le=100,
        description="Share of the request rate that one interval may move for balance, percent; 100 is no limit. "
        "Stable only.",
    )
    hysteresis_percent: Integer = Field(
        default=_DEFAULTS.hysteresis_percent,
        ge=0,
        le=90,
        description="Advantage of keys that have warm slots over keys that want them, and of counts in force, "
        "percent. Stable only.",
    )
    admission: AdmissionRule = Field(
        default=_DEFAULTS.admission,
        description="Rate: warm slots go to the keys with the highest rates. Bytes: to those that save the most "
        "prefill for the KV cache that their prefixes take. Stable only.",
    )
    balance: Balance = Field(
        default=_DEFAULTS.balance,
        description="What is spread evenly over the destinations: Requests, or prompt Tokens as the gateway counts "
        "them. Stable only.",
    )

    def to_spec(self) -> PlanningSpec:
        """Return it as a value."""
        return PlanningSpec(
            policy=self.policy,
            interval_seconds=self.interval_seconds,
            max_imbalance_percent=self.max_imbalance_percent,
            rewarm_budget_percent=self.rewarm_budget_percent,
            hysteresis_percent=self.hysteresis_percent,
            admission=self.admission,
            balance=self.balance,
        )


class OverrideModel(Model):
    """What is fixed for one key."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("has(self.route) || has(self.destinations)", _SAYS_SOMETHING),
            rule("!has(self.route) || self.route != 'Cold' || !has(self.destinations)", _COLD_HAS_NONE),
        )
    )

    key: Key = Field(description="The key, in lower case: keys compare without regard to case.")
    route: OverrideRoute | None = Field(
        default=None,
        description="Cold: never planned. Admit: planned before all others, whatever its rate.",
    )
    destinations: Integer | None = Field(
        default=None, ge=1, le=1024, description="How many destinations the key has when it is planned."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.route is None and self.destinations is None:
            raise ValueError(_SAYS_SOMETHING)
        if self.route is OverrideRoute.COLD and self.destinations is not None:
            raise ValueError(_COLD_HAS_NONE)
        return self

    def to_override(self) -> Override:
        """Return it as a value."""
        return Override(self.key, self.route, self.destinations)
