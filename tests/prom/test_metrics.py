import re
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cacheroute.domain.arms import ArmFigures, Arms
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
    assert seen[f"decisions_total['{decision.reason}', '{Outcome.INSTALLED}', 'inference/llama']"] == 1
    assert seen["rates_total['Measured', 'inference/llama']"] == 1
    assert seen["rates_total['Timeout', 'inference/llama']"] == 1
    metrics.forgotten(ref)
    left = samples(metrics)
    assert left["plans[]"] == 0
    assert not [name for name in left if "inference" in name]


def test_arms_are_shown_while_they_are_measured() -> None:
    metrics, ref = Metrics(), spec().ref
    plan, flat = ArmFigures(9000, 9, 100, 70, 120, None), ArmFigures(1000, 0, 0, 0, None, None)
    metrics.measured(ref, replace(rates({"a": 1.0}), arms=Arms(plan, flat, 300), uncounted=2.5, cut=True))
    seen = samples(metrics)
    assert seen["arm_hit_ratio['inference/llama', 'plan']"] == pytest.approx(0.7)
    assert seen["arm_error_ratio['inference/llama', 'plan']"] == pytest.approx(0.001)
    assert seen["arm_ttft_seconds['0.5', 'inference/llama', 'plan']"] == pytest.approx(0.12)
    assert seen["arm_requests['flat', 'inference/llama']"] == 1000
    assert (seen["uncounted_rate['inference/llama']"], seen["keys_cut['inference/llama']"]) == (2.5, 1)
    assert not [name for name in seen if name.startswith(("arm_hit", "arm_ttft")) and "flat" in name]
    metrics.measured(ref, RatesUnavailable(RatesReason.TIMEOUT, "slow"))
    assert not [name for name in samples(metrics) if name.startswith(("arm_", "uncounted", "keys_cut"))]


def test_conditions_are_numbers() -> None:
    metrics = Metrics()
    metrics.decided(spec().ref, reconcile(100.0, observe(fleet()), Event.INTERVAL))
    assert samples(metrics)["condition['DestinationsReady', 'inference/llama']"] == 0
    assert samples(metrics)["condition['Accepted', 'inference/llama']"] == 1


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
