from dataclasses import replace
from typing import Any

import pytest
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from cacheroute.domain.failover import FailoverSpec, HealthCheckSpec, LimitsSpec, RetryRule
from cacheroute.proxy.clusters import cluster
from cacheroute.proxy.tuning import Tuning
from tests.proxy.builders import route_configuration, table

TUNING = Tuning()
UNCHECKED = HealthCheckSpec(interval_milliseconds=0)


def compiled(failover: FailoverSpec, limits: LimitsSpec | None = None) -> Any:
    return cluster(replace(table(), failover=failover, limits=limits or LimitsSpec()), TUNING)


def policy(failover: FailoverSpec) -> Any:
    (packed,) = compiled(failover).typed_extension_protocol_options.values()
    options = http_protocol_options_pb2.HttpProtocolOptions()
    assert packed.Unpack(options)
    return options.retry_policy


def test_without_checks_a_destination_is_tried_again_soon() -> None:
    unchecked, checked = compiled(FailoverSpec(health_check=UNCHECKED)), compiled(FailoverSpec())
    assert (len(unchecked.health_checks), len(checked.health_checks)) == (0, 1)
    assert unchecked.outlier_detection.base_ejection_time.seconds == TUNING.ejection_seconds
    assert checked.outlier_detection.base_ejection_time.seconds == TUNING.checked_ejection_seconds


def test_a_check_is_as_the_spec_says_also_where_there_is_no_traffic() -> None:
    (check,) = compiled(FailoverSpec(health_check=HealthCheckSpec("/ping", 1500, 250, 4))).health_checks
    assert check.http_health_check.path == "/ping"
    assert check.interval.ToMilliseconds() == check.no_traffic_interval.ToMilliseconds() == 1500
    assert (check.timeout.ToMilliseconds(), check.unhealthy_threshold.value) == (250, 4)


def test_the_kernels_timeout_is_set_or_left_alone() -> None:
    (option,) = compiled(FailoverSpec(unreachable_milliseconds=900)).upstream_bind_config.socket_options
    assert (option.level, option.name, option.int_value) == (6, 18, 900)
    assert not compiled(FailoverSpec(unreachable_milliseconds=0)).HasField("upstream_bind_config")


def test_limits_become_circuit_breakers() -> None:
    (breaker,) = compiled(FailoverSpec(), LimitsSpec(1, 2, 3, 4)).circuit_breakers.thresholds
    found = (breaker.max_connections, breaker.max_pending_requests, breaker.max_requests, breaker.max_retries)
    assert [one.value for one in found] == [1, 2, 3, 4]


@pytest.mark.parametrize("seconds", [0, 30])
def test_a_slow_start_is_only_there_where_it_is_asked_for(seconds: int) -> None:
    config = compiled(FailoverSpec(slow_start_seconds=seconds)).least_request_lb_config
    assert config.HasField("slow_start_config") is (seconds > 0)
    assert config.slow_start_config.slow_start_window.seconds == seconds


@pytest.mark.parametrize(("rule", "again"), [(RetryRule.UNANSWERED, True), (RetryRule.NOT_STARTED, False)])
def test_only_one_rule_tries_again_what_an_engine_had(rule: RetryRule, *, again: bool) -> None:
    causes = policy(FailoverSpec(retry=rule)).retry_on.split(",")
    assert ("reset" in causes) is again
    assert "connect-failure" in causes


@pytest.mark.parametrize(("retries", "tries"), [(0, 0), (1, 1 + TUNING.repeated_tries)])
def test_no_retries_means_none(retries: int, tries: int) -> None:
    assert policy(FailoverSpec(max_retries=retries)).num_retries.value == tries


def test_the_retry_policy_is_the_clusters_and_not_once_more_on_every_route() -> None:
    routes: Any = route_configuration([table()])
    actions = [
        route.route for host in routes.virtual_hosts for route in host.routes if route.HasField("route")
    ]
    assert actions
    assert not any(action.HasField("retry_policy") for action in actions)
