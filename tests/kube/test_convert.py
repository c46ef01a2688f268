from typing import Any

import pytest

from cacheroute.domain.failover import FailoverSpec, HealthCheckSpec, LimitsSpec, RetryRule
from cacheroute.domain.fleet import Pool
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.spec import (
    Balance,
    Mode,
    Override,
    OverrideRoute,
    PlanningSpec,
    PlanRef,
    PlanSpec,
    PolicyName,
    RatesSpec,
)
from cacheroute.kube.convert import read, to_spec
from cacheroute.kube.errors import InvalidRoutingPlanError
from cacheroute.planning.options import AdmissionRule
from tests.kube.objects import FULL, INVALID, MINIMAL, merged, routing_plan


def test_a_minimal_plan_gets_the_defaults_of_the_domain() -> None:
    assert to_spec(MINIMAL) == PlanSpec(
        ref=PlanRef("default", "llama-8b"),
        generation=1,
        created=0.0,
        gateway="default",
        models=("meta-llama/Llama-3.1-8B-Instruct",),
        pools=(Pool("l40s", 4.0, 64),),
        key_sources=(KeySource(KeySourceKind.HEADER, "x-tenant-id"),),
    )


def test_every_field_arrives() -> None:
    body = routing_plan(
        {
            "spec": {
                "mode": "Shadow",
                "gateway": "edge",
                "keys": {"maxLength": 64},
                "rates": {"windowSeconds": 120, "minCoveragePercent": 80},
                "planning": {
                    "policy": "Paper",
                    "intervalSeconds": 30,
                    "maxImbalancePercent": 7,
                    "rewarmBudgetPercent": 3,
                    "hysteresisPercent": 15,
                    "balance": "Tokens",
                },
                "failover": {
                    "drainSeconds": 5,
                    "maxRetries": 1,
                    "replacementGraceSeconds": 7,
                    "retry": "NotStarted",
                    "unreachableMilliseconds": 2500,
                    "slowStartSeconds": 9,
                    "healthCheck": {
                        "path": "/ping",
                        "intervalMilliseconds": 0,
                        "timeoutMilliseconds": 300,
                        "unhealthyThreshold": 4,
                    },
                },
                "limits": {
                    "maxConnections": 1,
                    "maxPendingRequests": 2,
                    "maxRequests": 3,
                    "maxConcurrentRetries": 4,
                },
            }
        },
        creationTimestamp="2026-01-02T03:04:05Z",
    )
    spec = to_spec(body)
    assert (spec.ref, spec.generation, spec.created) == (PlanRef("inference", "llama-70b"), 3, 1767323045.0)
    assert (spec.mode, spec.gateway, spec.max_key_length) == (Mode.SHADOW, "edge", 64)
    assert spec.rates == RatesSpec(120, 80)
    assert spec.planning == PlanningSpec(PolicyName.PAPER, 30, 7, 3, 15, AdmissionRule.RATE, Balance.TOKENS)
    check = HealthCheckSpec("/ping", 0, 300, 4)
    assert spec.failover == FailoverSpec(5, 1, 7, RetryRule.NOT_STARTED, 2500, 9, check)
    assert spec.limits == LimitsSpec(1, 2, 3, 4)
    assert spec.pools == (Pool("h100", 2.5, 128), Pool("h200", 3.5, 224))
    assert [(source.kind.value, source.name) for source in spec.key_sources] == [
        ("header", "x-tenant-id"),
        ("cookie", "tenant"),
        ("bodyField", "prompt_cache_key"),
        ("bodyField", "metadata.user_id"),
        ("jwtClaim", "organization.id"),
        ("clientCertificate", "SpiffeId"),
        ("bodyField", "user"),
    ]
    assert spec.overrides == (
        Override("acme-batch", OverrideRoute.COLD),
        Override("acme-chat", OverrideRoute.ADMIT, 2),
    )


def test_placement_has_selectors_in_order() -> None:
    placement = read(FULL).placement
    assert placement.port == 8000
    assert [name for name, _ in placement.pools] == ["h100", "h200"]
    assert placement.pods.matches({"app": "vllm", "model": "llama-70b"})
    assert not placement.pods.matches({"app": "vllm", "model": "llama-70b", "canary": ""})


@pytest.mark.parametrize("entry", INVALID, ids=lambda entry: entry["case"])
def test_invalid_plans_are_refused_by_field(entry: dict[str, Any]) -> None:
    with pytest.raises(InvalidRoutingPlanError) as caught:
        to_spec(merged(FULL, entry["patch"]))
    message = str(caught.value)
    assert entry["field"] in message
    assert entry.get("message", "") in message
    assert message.startswith("RoutingPlan default/llama-70b: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (None, "document"),
        ([], "document"),
        ({}, "apiVersion"),
        ({"apiVersion": "cacheroute.dev/v1alpha1", "kind": "Pod"}, "kind"),
        ({"apiVersion": "cacheroute.dev/v1alpha1", "kind": "RoutingPlan"}, "metadata"),
        ({"apiVersion": "cacheroute.dev/v1alpha1", "kind": "RoutingPlan", "metadata": {}}, "metadata.name"),
    ],
)
def test_what_is_no_routing_plan_is_refused(document: Any, named: str) -> None:
    with pytest.raises(InvalidRoutingPlanError, match=named):
        to_spec(document)


def test_label_keys_that_no_label_can_have_are_refused() -> None:
    patch = {"spec": {"destinations": {"selector": {"matchLabels": {"not a key": "x"}}}}}
    with pytest.raises(InvalidRoutingPlanError, match="'not a key' is no label key"):
        to_spec(routing_plan(patch))
