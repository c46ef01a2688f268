"""The RoutingPlan API on a real API server: what it takes, what it refuses, and how it is shown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from tests.kube.objects import FULL, INVALID, MINIMAL, merged

pytestmark = pytest.mark.cluster

CRD = Path(__file__).parents[1] / "crds/routingplans.yaml"
NAMESPACE = "crd-tests"


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster that knows RoutingPlans, with both examples in a namespace of their own."""
    cluster.establish(CRD, NAMESPACE)
    cluster.apply(MINIMAL, FULL, namespace=NAMESPACE)
    try:
        yield cluster
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def _plan(api: Cluster) -> dict[str, Any]:
    return api.get("routingplan", FULL["metadata"]["name"], NAMESPACE)


def test_the_schema_has_no_violations(api: Cluster) -> None:
    definition = api.get("crd", "routingplans.cacheroute.dev")
    conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


def test_defaults_are_filled_in(api: Cluster) -> None:
    spec = api.get("rplan", MINIMAL["metadata"]["name"], NAMESPACE)["spec"]
    assert (spec["gateway"], spec["mode"], spec["destinations"]["port"]) == ("default", "Active", 8000)
    assert spec["keys"]["maxLength"] == 128
    assert spec["rates"] == {"windowSeconds": 300, "minCoveragePercent": 50}
    assert spec["planning"] == {
        "policy": "Stable",
        "intervalSeconds": 60,
        "maxImbalancePercent": 10,
        "rewarmBudgetPercent": 5,
        "hysteresisPercent": 20,
        "admission": "Rate",
        "balance": "Requests",
    }
    assert "overrides" not in spec
    assert spec["failover"] == {
        "drainSeconds": 60,
        "maxRetries": 3,
        "replacementGraceSeconds": 300,
        "retry": "Unanswered",
        "unreachableMilliseconds": 500,
        "slowStartSeconds": 0,
        "healthCheck": {
            "path": "/health",
            "intervalMilliseconds": 1000,
            "timeoutMilliseconds": 2000,
            "unhealthyThreshold": 3,
        },
    }
    assert spec["limits"] == {
        "maxConnections": 1_000_000,
        "maxPendingRequests": 1_000_000,
        "maxRequests": 1_000_000,
        "maxConcurrentRetries": 1_000_000,
    }


@pytest.mark.parametrize("entry", INVALID, ids=lambda entry: entry["case"])
def test_an_invalid_plan_is_refused_and_the_last_good_one_stays(api: Cluster, entry: dict[str, Any]) -> None:
    before = _plan(api)
    invalid = json.dumps(merged(FULL, entry["patch"]))
    with pytest.raises(HarnessError) as refusal:
        api.kubectl("replace", "--namespace", NAMESPACE, "--filename", "-", stdin=invalid)
    assert entry["field"] in str(refusal.value)
    assert entry.get("message", "") in str(refusal.value)
    assert _plan(api) == before


def test_get_has_the_columns(api: Cluster) -> None:
    header, *rows = api.kubectl("get", "rplan", "--namespace", NAMESPACE, "-o", "wide").splitlines()
    columns = "NAME READY MODE KEYS COVERAGE DESTS IMBALANCE HIT SYNCED CANARY VERSION MOVED LAST REASON AGE"
    assert header.split() == columns.split()
    assert len(rows) == 2
    assert "inference" in api.kubectl("get", "crd", "routingplans.cacheroute.dev", "-o", "yaml")


def test_explain_explains(api: Cluster) -> None:
    text = api.kubectl("explain", "routingplan.spec.nodePools.capacity.requestsPerSecond")
    assert "latency knee" in text
