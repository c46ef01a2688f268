"""The rules and the dashboard: names of metrics that exist, runbooks that are written, and what promtool says."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cacheroute.domain import telemetry
from cacheroute.prom.metrics import Metrics

ROOT = Path(__file__).parents[2]
RULES = ROOT / "charts/cacheroute/files/rules.yaml"
DASHBOARD = ROOT / "charts/cacheroute/files/dashboard.json"
SCENARIOS = Path(__file__).parent / "rules" / "rules-test.yaml"
METRIC = re.compile(r"\b(?:(?:plan|model)[a-z_]*:\w+:\w+|vllm:\w+|envoy_\w+|cacheroute_operator_\w+)")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]]


def known() -> set[str]:
    ours = set(re.findall(r"^\| `(\S+)`", Metrics().reference(), re.MULTILINE))
    counters = {value for value in vars(telemetry).values() if isinstance(value, str)}
    exported = {telemetry.exported(name) for name in counters} | {
        f"{telemetry.exported(telemetry.ARM_TTFT)}_bucket"
    }
    return (
        ours
        | exported
        | {rule["record"] for rule in rules() if "record" in rule}
        | {"vllm:request_success_total"}
    )


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return [rule["expr"] for rule in rules()] + [
        target["expr"] for panel in panels for target in panel["targets"]
    ]


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_that_is_named_exists(expression: str) -> None:
    named = set(METRIC.findall(expression))
    assert named
    assert named <= known()


@pytest.mark.parametrize(
    "alert", [rule for rule in rules() if "alert" in rule], ids=lambda rule: rule["alert"]
)
def test_every_alert_has_a_runbook_that_is_written(alert: dict[str, Any]) -> None:
    page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    titles = re.findall(r"^#+ (.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    assert anchor in {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert anchor == alert["alert"].lower()


def test_promtool_accepts_the_rules_and_every_scenario() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    for command in (["check", "rules", str(RULES)], ["test", "rules", str(SCENARIOS)]):
        done = subprocess.run([promtool, *command], check=False, capture_output=True, text=True, timeout=60)  # noqa: S603
        assert done.returncode == 0, done.stdout + done.stderr
