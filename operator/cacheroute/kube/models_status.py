"""status of a RoutingPlan: a summary. The plan itself is in ConfigMaps."""

from typing import Annotated

from pydantic import Field

from cacheroute.domain.conditions import ConditionStatus
from cacheroute.domain.decision import Outcome
from cacheroute.domain.status import TOP_KEYS
from cacheroute.kube.schema import Count, Decimal, Model, Text, Time, list_type

Reason = Annotated[
    str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9_])?$")
]
MAX_MESSAGE = 4096
Message = Annotated[str, Field(max_length=MAX_MESSAGE)]


class ConditionModel(Model):
    """One aspect of the state."""

    type: Annotated[str, Field(min_length=1, max_length=64)] = Field(description="Which aspect.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    observed_generation: Count = Field(description="Generation of the spec that was seen.")
    last_transition_time: Time = Field(description="When the status changed last.")
    reason: Reason = Field(description="Reason, for programs.")
    message: Message = Field(description="Reason, for people.")


class KeyCountsModel(Model):
    """Numbers of keys."""

    known: Count = Field(description="Keys with a measured rate.")
    admitted: Count = Field(description="Keys with destinations.")
    display: Text = Field(description="admitted/known.")


class SlotsModel(Model):
    """Warm slots of the fleet."""

    used: Count = Field(description="Slots that the plan fills.")
    total: Count = Field(description="Slots of the fleet.")


class MovedModel(Model):
    """What the last change of the plan moved."""

    keys: Count = Field(description="Keys that got or lost a destination.")
    rate_percent: Decimal = Field(
        description="Share of the request rate on newly given destinations, percent."
    )


class PredictedModel(Model):
    """Is affinity worth it here? A model's answer; a measurement is what decides."""

    worth: Text = Field(description="WorthIt, FlatIsWarm, TooSparse, ImbalanceEatsGain or Unknown.")
    cautions: tuple[Text, ...] = Field(
        default=(),
        max_length=8,
        description="Why routers that look at every request may serve this traffic better than a plan: HotDestination, "
        "ColdTraffic.",
        json_schema_extra=list_type("atomic"),
    )
    flat_hit_percent: Decimal = Field(
        description="Requests that would find their prefix with flat routing, percent."
    )
    planned_hit_percent: Decimal = Field(description="Requests that find their prefix by plan, percent.")
    capacity_multiplier: Decimal = Field(
        description="Requests per second at the same latency, against flat routing."
    )


class PlanModel(Model):
    """The plan in force."""

    version: Text = Field(description="Content hash of the assignment; on every answer as x-cacheroute-plan.")
    revision: Text = Field(description="Content hash of the assignment and of who fills the seats.")
    installed_time: Time = Field(description="When the plan was installed.")
    keys: KeyCountsModel = Field(description="Numbers of keys.")
    slots: SlotsModel = Field(description="Warm slots.")
    coverage_percent: Count = Field(
        description="Share of the request rate that has planned destinations, percent."
    )
    imbalance: Decimal = Field(description="Highest planned load over the mean; 1 is level.")
    worst_single_loss_imbalance: Decimal | None = Field(
        default=None, description="The worst imbalance after the loss of any one destination."
    )
    predicted: PredictedModel | None = Field(
        default=None, description="What a model of the caches expects of this traffic on this fleet."
    )
    moved: MovedModel = Field(description="What the last change moved.")


class DestinationCountsModel(Model):
    """Numbers of destinations."""

    ready: Count = Field(description="They take new requests.")
    draining: Count = Field(description="They finish what they have.")
    lost: Count = Field(description="They answer nothing.")
    display: Text = Field(description="ready/all.")


class GatewayCountsModel(Model):
    """Numbers of proxies."""

    connected: Count = Field(description="Proxies of the gateway with an open stream.")
    synced: Count = Field(description="Proxies that serve the newest snapshot.")
    rejected: Count = Field(description="Proxies that refused something, or are refused.")
    display: Text = Field(description="synced/connected.")


class ServedModel(Model):
    """What the engines reported."""

    token_hit_percent: Decimal = Field(description="Prompt tokens that came from the prefix cache, percent.")
    window_seconds: Count = Field(description="Over which time, seconds.")


class ArmModel(Model):
    """Measured figures of requests of admitted keys that were routed in one way."""

    requests: Count = Field(description="Requests that ended.")
    token_hit_percent: Decimal | None = Field(
        default=None, description="Prompt tokens that came from the prefix cache, percent."
    )
    ttft_p50_milliseconds: Count | None = Field(
        default=None, description="Median time to first token of streamed answers."
    )
    ttft_p99_milliseconds: Count | None = Field(
        default=None, description="99th percentile of the time to first token of streamed answers."
    )
    error_percent: Decimal = Field(
        description="Requests that ended with 5xx or were broken off by the engine, percent."
    )


class ArmsModel(Model):
    """Planned against flat routing, measured on requests of admitted keys."""

    window_seconds: Count = Field(description="Over which time, seconds.")
    plan: ArmModel | None = Field(default=None, description="Routed by plan; absent where there were none.")
    flat: ArmModel | None = Field(
        default=None, description="Routed by power of two choices; absent where there were none."
    )
    comparison: Annotated[str, Field(max_length=512)] = Field(description="Both arms in one sentence.")


class LastDecisionModel(Model):
    """The last step that changed, or should have changed, something."""

    time: Time = Field(description="When.")
    outcome: Outcome = Field(description="What happened to the plan.")
    reason: Reason = Field(description="Reason, for programs.")
    message: Message = Field(description="Reason, for people.")


class TopKeyModel(Model):
    """One of the keys with the highest planned rate."""

    key: Text = Field(description="The key.")
    rate: Decimal = Field(description="Requests per second when it was planned.")
    destinations: tuple[Text, ...] = Field(
        max_length=64, description="Who serves it now.", json_schema_extra=list_type("atomic")
    )


class StatusModel(Model):
    """What the operator observed and decided."""

    observed_generation: Count = Field(description="Generation of the spec that was seen.")
    conditions: tuple[ConditionModel, ...] = Field(
        max_length=16,
        description="Aspects of the state; Ready sums them up.",
        json_schema_extra=list_type("map", "type"),
    )
    plan: PlanModel | None = Field(default=None, description="The plan in force; absent before the first.")
    destinations: DestinationCountsModel = Field(description="Numbers of destinations.")
    gateways: GatewayCountsModel = Field(description="Numbers of proxies.")
    served: ServedModel | None = Field(
        default=None, description="Measured prefix-cache hit; absent where engines do not report it."
    )
    arms: ArmsModel | None = Field(
        default=None, description="Planned against flat routing; absent where nothing was measured."
    )
    last_decision: LastDecisionModel | None = Field(default=None, description="The last notable decision.")
    top_keys: tuple[TopKeyModel, ...] = Field(
        default=(),
        max_length=TOP_KEYS,
        description="Keys with the highest planned rate.",
        json_schema_extra=list_type("atomic"),
    )
