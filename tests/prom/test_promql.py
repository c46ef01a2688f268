from dataclasses import replace

import pytest

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


def test_queries() -> None:
    assert promql.key_rates(spec()) == (
        'sum by (routing_key) (rate(envoy_cacheroute_requests{plan="inference/llama"}[300s]))'
    )
    assert promql.reporting_proxies(spec()) == 'count(envoy_server_live{cacheroute_gateway="default"} == 1)'
    assert (
        promql.prompt_tokens(spec())
        == 'sum(increase(envoy_cacheroute_prompt_tokens{plan="inference/llama"}[300s]))'
    )


def test_a_hostile_name_stays_inside_its_literal() -> None:
    hostile = replace(spec(), ref=PlanRef("n", 'p"} or up or x{y="'))
    assert promql.key_rates(hostile).count('\\"') == 2
