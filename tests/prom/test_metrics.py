import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cacheroute.domain.decision import Outcome
from cacheroute.domain.gateways import GatewayStatus, Rejection
from cacheroute.domain.observation import Event
from cacheroute.domain.rates import RatesReason, RatesUnavailable
from cacheroute.domain.reconcile import reconcile
from cacheroute.prom.metrics import Metrics
from tests.domain.builders import fleet, observe, rates, spec

PREFIX = "cacheroute_operator_"


def samples(metrics: Metrics) -> dict[str, float]:
    families = text_string_to_metric_families(metrics.exposition().decode())
    return {
        sample.name.removeprefix(PREFIX) + str(sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith(("_created", "_bucket"))
    }


def test_a_plan_is_counted_until_it_is_forgotten() -> None:
    metrics, ref = Metrics(), spec().ref
    decision = reconcile(100.0, observe(fleet("a", "b")), Event.INTERVAL)
    metrics.decided(ref, decision)
    metrics.measured(ref, rates({"a": 1.0}))
    metrics.measured(ref, RatesUnavailable(RatesReason.TIMEOUT, "slow"))
    seen = samples(metrics)
    assert seen["plans[]"] == 1
    assert seen["keys['inference/llama', 'known']"] == 20
    assert seen[f"decisions_total['{Outcome.INSTALLED}', 'inference/llama']"] == 1
    assert seen["rates_total['Measured', 'inference/llama']"] == 1
    assert seen["rates_total['Timeout', 'inference/llama']"] == 1
    metrics.forgotten(ref)
    left = samples(metrics)
    assert left["plans[]"] == 0
    assert not [name for name in left if "inference" in name]


def test_a_snapshot_is_counted_once_for_each_version() -> None:
    metrics = Metrics()
    for version in ("v1", "v1", "v2", "v2", "v1"):
        metrics.published("default", version)
    metrics.published("batch", "v1")
    assert samples(metrics)["snapshots_total['default']"] == 3
    assert samples(metrics)["snapshots_total['batch']"] == 1


def test_gateways_steps_and_failures() -> None:
    metrics = Metrics()
    metrics.gateway("default", GatewayStatus(3, 2, (Rejection("node", "Rejected", "why"),)))
    metrics.reconciled(Event.INTERVAL, 0.5)
    metrics.store_failed("save")
    metrics.watch_restarted()
    seen = samples(metrics)
    states = {labels: value for labels, value in seen.items() if labels.startswith("proxies")}
    assert states == {
        "proxies['connected', 'default']": 3,
        "proxies['default', 'synced']": 2,
        "proxies['default', 'rejecting']": 1,
    }
    assert seen["reconcile_seconds_sum['Interval']"] == pytest.approx(0.5)
    assert seen["store_errors_total['save']"] == 1
    assert seen["watch_restarts_total[]"] == 1


def test_names_follow_the_conventions_and_every_metric_is_documented() -> None:
    metrics = Metrics()
    exposed = set(re.findall(r"^# TYPE (\S+)", metrics.exposition().decode(), re.MULTILINE))
    documented = set(re.findall(r"^\| `(\S+)`", metrics.reference(), re.MULTILINE))
    assert {name for name in exposed if not name.endswith("_created")} == documented
    assert all(re.fullmatch(r"cacheroute_operator_[a-z_]+", name) for name in documented)
    assert "| type |" in metrics.reference()
