"""What the user asks for: a RoutingPlan's spec as plain values, with every default filled in."""

import enum
from dataclasses import dataclass

from cacheroute.domain.failover import FailoverSpec, LimitsSpec
from cacheroute.domain.fleet import Pool
from cacheroute.domain.keys import KeySource
from cacheroute.planning.options import AdmissionRule

ANY_MODEL = "*"
"""Stands for every model that no other plan on the gateway claims."""


@dataclass(frozen=True, slots=True, order=True)
class PlanRef:
    """Names one RoutingPlan."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Mode(enum.StrEnum):
    """Whether the plan routes or only reports."""

    SHADOW = "Shadow"
    """Plan and report; every request is routed by power of two choices."""
    CANARY = "Canary"
    """A share of each admitted key's requests is routed by plan, the rest by power of two choices."""
    ACTIVE = "Active"
    """Admitted keys are routed by plan."""
    HOLD = "Hold"
    """The plan in force goes on routing; only what is lost for good is replaced."""


class PolicyName(enum.StrEnum):
    """Which planner."""

    PAPER = "Paper"
    """Algorithm 1 of CacheRoute (arXiv 2608.19677), from scratch each interval."""
    STABLE = "Stable"
    """From the plan in force, with few moves that pay."""


class Balance(enum.StrEnum):
    """What is spread evenly over the destinations."""

    REQUESTS = "Requests"
    """Requests/s."""
    TOKENS = "Tokens"
    """Prompt tokens/s, as the gateway counts them."""


class OverrideRoute(enum.StrEnum):
    """What an override says of a key."""

    COLD = "Cold"
    """It is never admitted."""
    ADMIT = "Admit"
    """It is admitted before all others."""


@dataclass(frozen=True, slots=True)
class Override:
    """What the user fixed for one key.

    Attributes:
        key: canonical.
        route: cold or admitted; None where the planner decides.
        destinations: how many the key has when it is admitted; None where the planner decides.
    """

    key: str
    route: OverrideRoute | None = None
    destinations: int | None = None


@dataclass(frozen=True, slots=True)
class PlanningSpec:
    """How plans are made.

    Attributes:
        policy: which planner.
        interval_seconds: the control interval, seconds.
        max_imbalance_percent: how far above the mean a destination may be loaded, percent.
        rewarm_budget_percent: share of the request rate that one interval may move to balance, percent.
        hysteresis_percent: advantage of keys in force at admission, and of counts in force, percent.
        admission: what warm slots are given for.
        balance: what is spread evenly.
    """

    policy: PolicyName = PolicyName.STABLE
    interval_seconds: int = 60
    max_imbalance_percent: int = 10
    rewarm_budget_percent: int = 5
    hysteresis_percent: int = 20
    admission: AdmissionRule = AdmissionRule.RATE
    balance: Balance = Balance.REQUESTS


@dataclass(frozen=True, slots=True)
class RatesSpec:
    """How per-key rates are measured.

    Attributes:
        window_seconds: length of the rate window, seconds.
        min_coverage_percent: share of the connected proxies whose counters must be present, percent.
    """

    window_seconds: int = 300
    min_coverage_percent: int = 50


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """One RoutingPlan.

    Attributes:
        ref: namespace and name.
        generation: of the spec; status repeats it as observedGeneration.
        created: creation time, seconds since the epoch; decides between two plans that claim one model.
        gateway: the Envoy fleet that serves it (node.cluster of the proxies).
        models: values of ``model`` in request bodies, or ``*``.
        mode: whether the plan routes.
        canary_percent: share of each admitted key's requests that mode Canary routes by plan, percent, 1..99; set in
            that mode, and without effect in the others.
        explain_headers: whether answers name their destination, decision and plan.
        pools: GPU node pools, at least one, unique names.
        key_sources: in order of preference, at least one.
        max_key_length: longer keys are cold, characters.
        rates: how rates are measured.
        planning: how plans are made.
        failover: what happens when a destination goes.
        limits: what a proxy may have open to the plan's destinations.
        overrides: what the user fixed for single keys, unique keys.
    """

    ref: PlanRef
    generation: int
    created: float
    gateway: str
    models: tuple[str, ...]
    pools: tuple[Pool, ...]
    key_sources: tuple[KeySource, ...]
    mode: Mode = Mode.ACTIVE
    canary_percent: int | None = None
    explain_headers: bool = True
    max_key_length: int = 128
    rates: RatesSpec = RatesSpec()
    planning: PlanningSpec = PlanningSpec()
    failover: FailoverSpec = FailoverSpec()
    limits: LimitsSpec = LimitsSpec()
    overrides: tuple[Override, ...] = ()

    @property
    def planned_percent(self) -> int:
        """Share of each admitted key's requests that is routed by plan, percent."""
        if self.mode is Mode.CANARY:
            return self.canary_percent or 0
        return 0 if self.mode is Mode.SHADOW else 100

    @property
    def needs_tokens(self) -> bool:
        """Whether the planner looks at the prompt tokens of each key."""
        return self.planning.balance is Balance.TOKENS or self.planning.admission is AdmissionRule.BYTES

    def pool(self, name: str) -> Pool:
        """Return the pool called ``name``; KeyError where the spec has none."""
        return {pool.name: pool for pool in self.pools}[name]


@dataclass(frozen=True, slots=True)
class InvalidSpec:
    """A RoutingPlan that cannot be read.

    Attributes:
        generation: of the spec that was seen.
        message: one line that names the field and what to do.
    """

    generation: int
    message: str
