"""spec of a RoutingPlan."""

import re
from decimal import Decimal
from typing import Annotated, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from cacheroute.domain.fleet import Pool
from cacheroute.domain.keys import KEY_PUNCTUATION
from cacheroute.domain.spec import ANY_MODEL, Mode, RatesSpec
from cacheroute.kube.models_failover import FailoverModel, LimitsModel
from cacheroute.kube.models_keys import KeysModel
from cacheroute.kube.models_planning import OverrideModel, PlanningModel
from cacheroute.kube.models_selector import PodSelectorModel, SelectorModel
from cacheroute.kube.schema import Boolean, DnsLabel, Integer, Model, list_type, rule, rules
from cacheroute.planning.options import AdmissionRule

_RATES = RatesSpec()
_STAR_ALONE = "'*' stands for every model, so it must be the only one"
_QUANTITY = 'must be a quantity above 0 and at most 1M, such as "2.5" or "500m"'
_WINDOW = "rates.windowSeconds must be at least planning.intervalSeconds, else a plan misses traffic"
_CANARY = "mode Canary needs canaryPercent, the share of each key's requests that is routed by plan"
_TOKENS = "planning.admission Bytes needs capacity.kvCacheTokens in every pool of nodePools"
_MAX_RATE = Decimal(1_000_000)
_SUFFIXES = {"m": Decimal("0.001"), "": Decimal(1), "k": Decimal(1000), "M": Decimal(1_000_000)}

ModelName = Annotated[
    str,
    Field(min_length=1, max_length=256, pattern=rf"^(\*|[A-Za-z0-9{re.escape(KEY_PUNCTUATION)}]+)$"),
]
Quantity = Annotated[
    str,
    Field(
        min_length=1,
        max_length=24,
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?[mkM]?$",
        json_schema_extra=rules(
            rule(
                "isQuantity(self) && quantity(self).isGreaterThan(quantity('0')) "
                "&& !quantity(self).isGreaterThan(quantity('1M'))",
                _QUANTITY,
            )
        ),
    ),
]


def quantity(text: str) -> Decimal:
    """Return the value of a Kubernetes quantity of the spellings that the schema lets through."""
    digits = text.rstrip("mkM")
    return Decimal(digits) * _SUFFIXES[text[len(digits) :]]


class DestinationsModel(Model):
    """Which pods serve."""

    selector: PodSelectorModel = Field(
        description="Labels of the vLLM pods, in the namespace of the RoutingPlan."
    )
    port: Integer = Field(default=8000, ge=1, le=65535, description="TCP port of the OpenAI API on the pods.")


class CapacityModel(Model):
    """What one destination of the pool can do; measure it, it decides how keys are spread."""

    requests_per_second: Quantity = Field(
        description='Requests per second that one destination serves at its latency knee, such as "2.5".'
    )
    warm_prefixes: Integer = Field(
        ge=0, le=1_000_000, description="Prefixes that fit into the KV cache of one destination at a time."
    )
    kv_cache_tokens: Integer | None = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        description="Tokens that fit into the KV cache of one destination, as vLLM logs it at its start; needed with "
        "planning.admission Bytes.",
    )

    @field_validator("requests_per_second")
    @classmethod
    def _bounded(cls, text: str) -> str:
        if not 0 < quantity(text) <= _MAX_RATE:
            raise ValueError(_QUANTITY)
        return text


class NodePoolModel(Model):
    """Nodes with the same kind of GPU."""

    name: DnsLabel = Field(description="Name of the pool, unique within the plan.")
    node_selector: SelectorModel = Field(
        description="Labels of the nodes, such as nvidia.com/gpu.product. A node belongs to the first pool that "
        "selects it; an empty selector takes every node."
    )
    capacity: CapacityModel = Field(description="Capacity of one destination on these nodes.")

    def to_pool(self) -> Pool:
        """Return the pool as a value."""
        rate = float(quantity(self.capacity.requests_per_second))
        return Pool(self.name, rate, self.capacity.warm_prefixes, self.capacity.kv_cache_tokens)


class RatesModel(Model):
    """How the request rate of each key is measured."""

    window_seconds: Integer = Field(
        default=_RATES.window_seconds, ge=5, le=86400, description="Length of the window, seconds."
    )
    min_coverage_percent: Integer = Field(
        default=_RATES.min_coverage_percent,
        ge=0,
        le=100,
        description="Share of the connected proxies whose counters must be there; with fewer the plan in force stays.",
    )


class SpecModel(Model):
    """What is planned, on which pods, and how."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("self.rates.windowSeconds >= self.planning.intervalSeconds", _WINDOW),
            rule(
                "self.planning.admission != 'Bytes' || self.nodePools.all(p, has(p.capacity.kvCacheTokens))",
                _TOKENS,
            ),
            rule("self.mode != 'Canary' || has(self.canaryPercent)", _CANARY),
        )
    )

    gateway: DnsLabel = Field(
        default="default",
        description="Envoy fleet that serves the plan: the --service-cluster of its proxies.",
    )
    models: tuple[ModelName, ...] = Field(
        min_length=1,
        max_length=64,
        description="Values of model in request bodies, regardless of case; '*' alone stands for every model that "
        "no other plan of the gateway has. One plan for each model and gateway.",
        json_schema_extra=list_type("set") | rules(rule("!('*' in self) || size(self) == 1", _STAR_ALONE)),
    )
    mode: Mode = Field(
        default=Mode.ACTIVE,
        description="Active routes by plan. Shadow plans and reports only; every request goes to the less loaded "
        "of two random destinations. Canary routes canaryPercent of each planned key's requests by plan and the "
        "rest as Shadow does. Hold keeps the plan in force; only destinations that are gone for good are replaced.",
    )
    canary_percent: Integer | None = Field(
        default=None,
        ge=1,
        le=99,
        description="Share of each planned key's requests that mode Canary routes by plan, percent; needed in that "
        "mode, without effect in others.",
    )
    explain_headers: Boolean = Field(
        default=True,
        description="Whether answers carry x-cacheroute-destination, -decision and -plan: who served the request, "
        "how it was chosen, by which plan. They name pods, so turn them off where clients must not know these.",
    )
    destinations: DestinationsModel = Field(description="The pods that serve.")
    node_pools: tuple[NodePoolModel, ...] = Field(
        min_length=1,
        max_length=16,
        description="Where the pods may stand, with what capacity. A pod on a node of no pool is no destination.",
        json_schema_extra=list_type("map", "name"),
    )
    keys: KeysModel = Field(description="Where a request's key is found.")
    rates: RatesModel = Field(
        default_factory=RatesModel,
        description="How rates are measured.",
        json_schema_extra={"default": {}},
    )
    planning: PlanningModel = Field(
        default_factory=PlanningModel,
        description="How plans are made.",
        json_schema_extra={"default": {}},
    )
    failover: FailoverModel = Field(
        default_factory=FailoverModel,
        description="What happens when something goes.",
        json_schema_extra={"default": {}},
    )
    limits: LimitsModel = Field(
        default_factory=LimitsModel,
        description="What one proxy may have open to all destinations of the plan together; above it clients get 503.",
        json_schema_extra={"default": {}},
    )

    overrides: tuple[OverrideModel, ...] = Field(
        default=(),
        max_length=256,
        description="What is fixed for single keys, whatever their rates.",
        json_schema_extra=list_type("map", "key"),
    )

    @field_validator("models")
    @classmethod
    def _star_alone(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if ANY_MODEL in models and len(models) > 1:
            raise ValueError(_STAR_ALONE)
        if len(set(models)) < len(models):
            raise ValueError("a model stands there twice")
        return models

    @field_validator("node_pools")
    @classmethod
    def _unique_names(cls, pools: tuple[NodePoolModel, ...]) -> tuple[NodePoolModel, ...]:
        names = [pool.name for pool in pools]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"pool {twice!r} stands there twice; names are unique")
        return pools

    @model_validator(mode="after")
    def _window_covers_interval(self) -> Self:
        if self.rates.window_seconds < self.planning.interval_seconds:
            raise ValueError(_WINDOW)
        return self

    @model_validator(mode="after")
    def _canary_has_a_share(self) -> Self:
        if self.mode is Mode.CANARY and self.canary_percent is None:
            raise ValueError(_CANARY)
        return self

    @model_validator(mode="after")
    def _tokens_are_known(self) -> Self:
        by_bytes = self.planning.admission is AdmissionRule.BYTES
        if by_bytes and any(pool.capacity.kv_cache_tokens is None for pool in self.node_pools):
            raise ValueError(_TOKENS)
        return self

    @field_validator("overrides")
    @classmethod
    def _unique_keys(cls, overrides: tuple[OverrideModel, ...]) -> tuple[OverrideModel, ...]:
        keys = [one.key for one in overrides]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ValueError(f"key {twice!r} stands there twice; keys are unique")
        return overrides
