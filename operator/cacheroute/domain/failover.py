"""What the user asks for when destinations fail: plain values, with every default filled in."""

import enum
from dataclasses import dataclass


class RetryRule(enum.StrEnum):
    """Which requests are tried on another destination; one whose response has begun never is."""

    UNANSWERED = "Unanswered"
    """Every one whose response has not begun, also where an engine may have worked on it."""
    NOT_STARTED = "NotStarted"
    """Those that surely never reached an engine."""


@dataclass(frozen=True, slots=True)
class HealthCheckSpec:
    """How each gateway proxy asks each destination whether it serves.

    Attributes:
        path: of the request; an answer of 500 or above, as of an engine that died, takes the destination out at once.
        interval_milliseconds: from one answer to the next question; 0 asks never.
        timeout_milliseconds: an answer that takes longer counts as a failure.
        unhealthy_threshold: failures in a row, without an answer, until the destination is left out.
    """

    path: str = "/health"
    interval_milliseconds: int = 1000
    timeout_milliseconds: int = 2000
    unhealthy_threshold: int = 3


@dataclass(frozen=True, slots=True)
class FailoverSpec:
    """What happens when a destination goes.

    Attributes:
        drain_seconds: how long a deleted plan keeps its cold route, seconds.
        max_retries: how often Envoy tries another destination before the first response byte.
        replacement_grace_seconds: how long the seat of a lost destination waits for a replacement, seconds.
        retry: which requests are tried again.
        unreachable_milliseconds: how long the kernel of a destination may leave data without acknowledgement until
            its connection is closed, TCP_USER_TIMEOUT of tcp(7); 0 waits as long as the operating system does.
        slow_start_seconds: how long a destination that joins or returns gets a growing share; 0 for none.
        health_check: how destinations are asked for their health.
    """

    drain_seconds: int = 60
    max_retries: int = 3
    replacement_grace_seconds: int = 300
    retry: RetryRule = RetryRule.UNANSWERED
    unreachable_milliseconds: int = 500
    slow_start_seconds: int = 0
    health_check: HealthCheckSpec = HealthCheckSpec()


@dataclass(frozen=True, slots=True)
class LimitsSpec:
    """What one proxy may have open to all destinations of a plan together (Envoy's circuit breakers).

    Attributes:
        max_connections: TCP connections.
        max_pending_requests: requests that wait for a connection.
        max_requests: requests in progress, streams among them.
        max_concurrent_retries: retries in progress.
    """

    max_connections: int = 1_000_000
    max_pending_requests: int = 1_000_000
    max_requests: int = 1_000_000
    max_concurrent_retries: int = 1_000_000
