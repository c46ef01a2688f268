import io
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from cacheroute.cli import kubectl_tables as tables
from tests.kube.objects import routing_plan
from tests.kube.plans import plan

STATUS: dict[str, Any] = {
    "conditions": [
        {"type": "Ready", "status": "False", "message": "Synced: [red]no[/red] proxy"},
        {"type": "Synced", "status": "False", "message": "no proxy"},
    ],
    "plan": {"keys": {"display": "40/100"}, "coveragePercent": 61},
    "destinations": {"display": "29/30"},
    "gateways": {"display": "1/2", "connected": 2, "synced": 1, "rejected": 0},
    "served": {"tokenHitPercent": "93.1"},
}
PLANS = [routing_plan({"status": STATUS}), routing_plan()]


def text(table: Table) -> str:
    console = Console(file=io.StringIO(), width=400)
    console.print(table)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # the file is the StringIO above


def test_status_says_why_and_reads_no_markup() -> None:
    shown = text(tables.status_table(PLANS))
    for part in ("40/100", "61 %", "29/30", "93.1 %", "1/2", "Synced: [red]no[/red] proxy", "is it running?"):
        assert part in shown


def test_a_canary_says_how_much_goes_by_plan() -> None:
    canary = routing_plan({"spec": {"mode": "Canary", "canaryPercent": 15}})
    assert "Canary 15 %" in text(tables.status_table([canary]))
    assert "15 %" not in text(tables.status_table([routing_plan({"spec": {"canaryPercent": 15}})]))


def test_gateways_are_counted() -> None:
    first, second = tables.gateway_rows(PLANS)
    assert (first["connected"], first["synced"], first["message"]) == (2, 1, "no proxy")
    assert (second["gateway"], second["connected"]) == ("default", 0)


def test_keys_come_busiest_first_with_vacant_seats_named() -> None:
    rows = tables.key_rows(plan(), None)
    assert [row["ratePerSecond"] for row in rows] == [1.0, 0.5, pytest.approx(1 / 3)]
    assert (rows[0]["destinations"], rows[0]["standbys"]) == (["pod-a"], ["pod-b"])
    assert len(tables.key_rows(plan(), "pod-a")) == 3
    assert tables.key_rows(plan(), "pod-b") == []


def test_a_plan_is_shown_by_seat() -> None:
    shown = text(tables.plan_table("llama", plan()))
    assert "vacant (was pod-b)" in shown
    assert "40 of 100 keys" in shown


def test_only_plans_with_both_arms_are_compared() -> None:
    both = routing_plan({"status": {"arms": {"plan": {}, "flat": {}, "comparison": "plan against flat"}}})
    one = routing_plan({"status": {"arms": {"plan": {}, "comparison": "no comparison"}}})
    assert tables.comparisons([*PLANS, one, both]) == ["inference/llama-70b: plan against flat"]
