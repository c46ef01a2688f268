import re
from dataclasses import replace

import pytest

from cacheroute.domain import telemetry
from cacheroute.domain.spec import PlanRef
from cacheroute.prom import promql
from tests.domain.builders import spec


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("plain", '"plain"'),
        ('a"} or vector(1) or {x="', r'"a\"} or vector(1) or {x=\""'),
        ("back\\slash", r'"back\\slash"'),
        ("two\nlines\r", r'"two\nlines\r"'),
    ],
)
def test_label_values_are_escaped(value: str, literal: str) -> None:
    assert promql.quoted(value) == literal


def test_names_are_names_of_the_data_model() -> None:
    metrics = (telemetry.REQUESTS, telemetry.PROMPT_TOKENS, telemetry.CACHED_TOKENS, telemetry.LIVE)
    labels = (telemetry.LABEL_PLAN, telemetry.LABEL_KEY, telemetry.LABEL_DECISION, telemetry.LABEL_GATEWAY)
    assert all(re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", telemetry.exported(name)) for name in metrics)
    assert all(re.fullmatch(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*", name) for name in labels)


def test_queries() -> None:
    assert promql.key_rates(spec()) == (
        'topk(200001, sum by (routing_key) (rate(envoy_cacheroute_requests{plan="inference/llama"}[300s])))'
    )
    assert promql.reporting_proxies(spec()) == 'count(envoy_server_live{cacheroute_gateway="default"} == 1)'
    asked = promql.figures(spec())
    assert (
        'label_replace(sum by (arm) (increase(envoy_cacheroute_arm_errors{plan="inference/llama"}[300s])), "figure", '
        '"errors", "", "")'
    ) in asked
    assert (
        "histogram_quantile(0.99, sum by (arm, le) (rate("
        'envoy_cacheroute_arm_ttft_milliseconds_bucket{plan="inference/llama"}[300s])))'
    ) in asked
    assert (
        "sum(rate(envoy_server_stats_overflow_counter[300s]) "
        'and on (instance) envoy_server_live{cacheroute_gateway="default"})'
    ) in asked


def test_a_hostile_name_stays_inside_its_literal() -> None:
    hostile = replace(spec(), ref=PlanRef("n", 'p"} or up or x{y="'))
    assert promql.key_rates(hostile).count('\\"') == 2


def test_tokens_of_each_key_are_asked_by_key() -> None:
    assert (
        promql.key_tokens(spec())
        == 'topk(200001, sum by (routing_key) (rate(envoy_cacheroute_prompt_tokens{plan="inference/llama"}[300s])))'
    )
