"""How a cluster's destinations are connected to, watched, left out and bounded.

Envoy never closes an HTTP connection in use because of a failed check or an ejection, it only gives it nothing new
(ClusterManagerImpl::ThreadLocalClusterManagerImpl::onHostHealthFailure drains HTTP pools;
close_connections_on_host_health_failure is for tcp_proxy). So a false alarm cuts no stream, and a connection to a
destination that vanished is closed by the kernel (docs/decisions/0010).
"""

import socket

from envoy.config.cluster.v3 import circuit_breaker_pb2, cluster_pb2, outlier_detection_pb2
from envoy.config.core.v3 import (
    address_pb2,
    health_check_pb2,
    protocol_pb2,
    socket_option_pb2,
)
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.retry.host.previous_hosts.v3 import previous_hosts_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from envoy.type.v3 import range_pb2

from cacheroute.domain.failover import FailoverSpec, HealthCheckSpec, LimitsSpec, RetryRule
from cacheroute.proxy.messages import milliseconds, packed, seconds, uint32
from cacheroute.proxy.tuning import Tuning

_TCP_USER_TIMEOUT = 18
"""linux/tcp.h; Python's socket module has it on Linux only, and the operator need not run where Envoy does."""
_NOT_STARTED = "connect-failure,refused-stream,reset-before-request"
RETRY_ON = {RetryRule.NOT_STARTED: _NOT_STARTED, RetryRule.UNANSWERED: f"{_NOT_STARTED},reset"}
"""Envoy's names of what is tried again; an answer that has begun never is (Envoy's rule)."""
_CHECK_HOST = "cacheroute"
_KEEPALIVE_PROBES = 3
_KEEPALIVE_SECONDS = 1


def health_checks(spec: HealthCheckSpec) -> list[health_check_pb2.HealthCheck]:
    """Return the active checks: none, or one over HTTP.

    The first check of a new destination comes at once and one success suffices. An idle plan is checked as often as
    a busy one (Envoy's own default is once a minute), so that the first request after a pause finds out nothing.
    """
    if not spec.interval_milliseconds:
        return []
    every = milliseconds(spec.interval_milliseconds)
    return [
        health_check_pb2.HealthCheck(
            timeout=milliseconds(spec.timeout_milliseconds),
            interval=every,
            no_traffic_interval=every,
            interval_jitter_percent=10,
            unhealthy_threshold=uint32(spec.unhealthy_threshold),
            healthy_threshold=uint32(1),
            http_health_check=health_check_pb2.HealthCheck.HttpHealthCheck(
                host=_CHECK_HOST,
                path=spec.path,
                expected_statuses=[range_pb2.Int64Range(start=200, end=500)],
            ),
        )
    ]


def outlier_detection(spec: HealthCheckSpec, tuning: Tuning) -> outlier_detection_pb2.OutlierDetection:
    """Leave a destination out after one failed connection; what an engine answers never counts against it.

    The next check that succeeds takes it in again (Envoy's successful_active_health_check_uneject_host), so with
    checks the time can be long enough for a destination that is gone to be out until Kubernetes says so.
    """
    never = uint32(0)
    least = tuning.checked_ejection_seconds if spec.interval_milliseconds else tuning.ejection_seconds
    return outlier_detection_pb2.OutlierDetection(
        split_external_local_origin_errors=True,
        consecutive_local_origin_failure=uint32(1),
        interval=seconds(1),
        base_ejection_time=seconds(least),
        max_ejection_time=seconds(max(least, tuning.max_ejection_seconds)),
        max_ejection_percent=uint32(100),
        enforcing_consecutive_5xx=never,
        enforcing_consecutive_gateway_failure=never,
        enforcing_success_rate=never,
        enforcing_local_origin_success_rate=never,
    )


def circuit_breakers(limits: LimitsSpec) -> circuit_breaker_pb2.CircuitBreakers:
    """Bound what a proxy has open to a plan; Envoy's own 1,024 is too low for streams that last minutes."""
    return circuit_breaker_pb2.CircuitBreakers(
        thresholds=[
            circuit_breaker_pb2.CircuitBreakers.Thresholds(
                max_connections=uint32(limits.max_connections),
                max_pending_requests=uint32(limits.max_pending_requests),
                max_requests=uint32(limits.max_requests),
                max_retries=uint32(limits.max_concurrent_retries),
            )
        ]
    )


def keepalive() -> cluster_pb2.UpstreamConnectionOptions:
    """Probe connections on which nothing comes, each second.

    With TCP_USER_TIMEOUT set Linux closes at the first probe that is due after that time, however many were lost.
    """
    every = uint32(_KEEPALIVE_SECONDS)
    return cluster_pb2.UpstreamConnectionOptions(
        tcp_keepalive=address_pb2.TcpKeepalive(
            keepalive_probes=uint32(_KEEPALIVE_PROBES), keepalive_time=every, keepalive_interval=every
        )
    )


def bind_config(unreachable_milliseconds: int) -> address_pb2.BindConfig | None:
    """Return the socket option by which the kernel closes connections to where nobody acknowledges."""
    if not unreachable_milliseconds:
        return None
    option = socket_option_pb2.SocketOption(
        description="TCP_USER_TIMEOUT",
        level=socket.IPPROTO_TCP,
        name=_TCP_USER_TIMEOUT,
        int_value=unreachable_milliseconds,
        state=socket_option_pb2.SocketOption.STATE_PREBIND,
    )
    return address_pb2.BindConfig(socket_options=[option])


def http_options(failover: FailoverSpec, tuning: Tuning) -> http_protocol_options_pb2.HttpProtocolOptions:
    """Speak HTTP/1.1, as vLLM does, close idle connections before the engine would, and try again what failed.

    The retry policy is here, as Envoy 1.37 and later let it be, because one on each route costs 1.2 KB of memory there.
    """
    options = http_protocol_options_pb2.HttpProtocolOptions
    return options(
        common_http_protocol_options=protocol_pb2.HttpProtocolOptions(
            idle_timeout=seconds(tuning.upstream_idle_seconds)
        ),
        explicit_http_config=options.ExplicitHttpConfig(
            http_protocol_options=protocol_pb2.Http1ProtocolOptions()
        ),
        retry_policy=_retry_policy(failover, tuning),
    )


def _retry_policy(failover: FailoverSpec, tuning: Tuning) -> route_components_pb2.RetryPolicy:
    policy = route_components_pb2.RetryPolicy
    return policy(
        retry_on=RETRY_ON[failover.retry],
        num_retries=uint32(_tries(failover.max_retries, tuning)),
        retry_host_predicate=[
            policy.RetryHostPredicate(
                name="envoy.retry_host_predicates.previous_hosts",
                typed_config=packed(previous_hosts_pb2.PreviousHostsPredicate()),
            )
        ],
        host_selection_retry_max_attempts=tuning.host_attempts,
        retry_back_off=policy.RetryBackOff(
            base_interval=milliseconds(tuning.retry_base_milliseconds),
            max_interval=milliseconds(tuning.retry_max_milliseconds),
        ),
    )


def _tries(max_retries: int, tuning: Tuning) -> int:
    return max_retries + tuning.repeated_tries if max_retries else 0
