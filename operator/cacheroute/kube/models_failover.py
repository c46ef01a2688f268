"""spec.failover and spec.limits: what happens when destinations fail, and how much may be open to them."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from cacheroute.domain.failover import FailoverSpec, HealthCheckSpec, LimitsSpec, RetryRule
from cacheroute.kube.schema import Integer, Model, rule, rules

_FAILOVER, _CHECK, _LIMITS = FailoverSpec(), HealthCheckSpec(), LimitsSpec()
_LEAST_INTERVAL, _LEAST_UNREACHABLE = 100, 200
_INTERVAL = f"healthCheck.intervalMilliseconds must be 0 (no checks) or at least {_LEAST_INTERVAL}"
_UNREACHABLE = f"failover.unreachableMilliseconds must be 0 (as the operating system has it) or at least {_LEAST_UNREACHABLE}"

Path = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*$")]
Limit = Annotated[Integer, Field(ge=1, le=4_000_000_000)]


class HealthCheckModel(Model):
    """How each proxy asks each destination whether it serves."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.intervalMilliseconds) || self.intervalMilliseconds == 0 || "
                f"self.intervalMilliseconds >= {_LEAST_INTERVAL}",
                _INTERVAL,
            )
        )
    )

    path: Path = Field(
        default=_CHECK.path,
        description="Path of the GET request. An answer of 500 or above takes the destination out at once; one below, "
        "also 404, shows that it lives.",
    )
    interval_milliseconds: Integer = Field(
        default=_CHECK.interval_milliseconds,
        ge=0,
        le=60_000,
        description="Time between two checks of a destination by one proxy, milliseconds; 0 turns checks off.",
    )
    timeout_milliseconds: Integer = Field(
        default=_CHECK.timeout_milliseconds,
        ge=50,
        le=60_000,
        description="An answer that takes longer is a failure, milliseconds. A busy engine may answer late.",
    )
    unhealthy_threshold: Integer = Field(
        default=_CHECK.unhealthy_threshold,
        ge=1,
        le=10,
        description="Failures in a row without an answer until the destination gets nothing new.",
    )

    @model_validator(mode="after")
    def _off_or_sane(self) -> Self:
        if 0 < self.interval_milliseconds < _LEAST_INTERVAL:
            raise ValueError(_INTERVAL)
        return self

    def to_spec(self) -> HealthCheckSpec:
        """Return it as a value."""
        return HealthCheckSpec(
            self.path, self.interval_milliseconds, self.timeout_milliseconds, self.unhealthy_threshold
        )


class FailoverModel(Model):
    """What happens when destinations, or the plan itself, go."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.unreachableMilliseconds) || self.unreachableMilliseconds == 0 || "
                f"self.unreachableMilliseconds >= {_LEAST_UNREACHABLE}",
                _UNREACHABLE,
            )
        )
    )

    drain_seconds: Integer = Field(
        default=_FAILOVER.drain_seconds,
        ge=0,
        le=3600,
        description="How long a deleted RoutingPlan goes on serving by the cold route, seconds.",
    )
    max_retries: Integer = Field(
        default=_FAILOVER.max_retries,
        ge=0,
        le=10,
        description="How many other destinations are tried before the first byte of the response; 0 for none.",
    )
    retry: RetryRule = Field(
        default=_FAILOVER.retry,
        description="Unanswered: every request whose response has not begun is tried again, also one that an engine "
        "may have worked on. NotStarted: only requests that surely never reached an engine.",
    )
    replacement_grace_seconds: Integer = Field(
        default=_FAILOVER.replacement_grace_seconds,
        ge=0,
        le=86400,
        description="How long the keys of a lost destination wait for its replacement, seconds.",
    )
    unreachable_milliseconds: Integer = Field(
        default=_FAILOVER.unreachable_milliseconds,
        ge=0,
        le=60_000,
        description="How long a destination's kernel may leave data without acknowledgement until its connection is "
        "closed (TCP_USER_TIMEOUT), milliseconds. A busy engine acknowledges; one that vanished does not. 0 leaves it "
        "to the operating system: many minutes.",
    )
    slow_start_seconds: Integer = Field(
        default=_FAILOVER.slow_start_seconds,
        ge=0,
        le=900,
        description="How long a destination that joins or returns gets a growing share of what it shares with others, "
        "seconds; 0 for none. Keys planned to it alone get to it at once.",
    )
    health_check: HealthCheckModel = Field(
        default_factory=HealthCheckModel,
        description="How each proxy asks each destination whether it serves.",
        json_schema_extra={"default": {}},
    )

    @model_validator(mode="after")
    def _off_or_sane(self) -> Self:
        if 0 < self.unreachable_milliseconds < _LEAST_UNREACHABLE:
            raise ValueError(_UNREACHABLE)
        return self

    def to_spec(self) -> FailoverSpec:
        """Return it as a value."""
        return FailoverSpec(
            drain_seconds=self.drain_seconds,
            max_retries=self.max_retries,
            replacement_grace_seconds=self.replacement_grace_seconds,
            retry=self.retry,
            unreachable_milliseconds=self.unreachable_milliseconds,
            slow_start_seconds=self.slow_start_seconds,
            health_check=self.health_check.to_spec(),
        )


class LimitsModel(Model):
    """What one proxy may have open to all destinations of the plan together; above it clients get 503."""

    max_connections: Limit = Field(default=_LIMITS.max_connections, description="TCP connections.")
    max_pending_requests: Limit = Field(
        default=_LIMITS.max_pending_requests, description="Requests that wait for a connection."
    )
    max_requests: Limit = Field(
        default=_LIMITS.max_requests, description="Requests in progress, streams among them."
    )
    max_concurrent_retries: Limit = Field(
        default=_LIMITS.max_concurrent_retries, description="Retries in progress."
    )

    def to_spec(self) -> LimitsSpec:
        """Return it as a value."""
        return LimitsSpec(
            self.max_connections, self.max_pending_requests, self.max_requests, self.max_concurrent_retries
        )
