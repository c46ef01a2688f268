"""RoutingPlans and stored plans as tables for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from cacheroute.cli.plan_tables import seat_keys
from cacheroute.cli.tables import add, table
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import Mode

Row = dict[str, Any]


def status_table(plans: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row for each RoutingPlan."""
    made = table("NAMESPACE", "NAME", "READY", "MODE", "KEYS", "COVERAGE", "DESTS", "HIT", "SYNCED", "WHY")
    for plan in plans:
        status, ready = plan.get("status", {}), _condition(plan, "Ready")
        in_force = status.get("plan", {})
        hit = status.get("served", {}).get("tokenHitPercent")
        add(
            made,
            plan["metadata"]["namespace"],
            plan["metadata"]["name"],
            ready.get("status", "Unknown"),
            _mode(plan["spec"]),
            in_force.get("keys", {}).get("display", ""),
            f"{in_force['coveragePercent']} %" if in_force else "",
            status.get("destinations", {}).get("display", ""),
            f"{hit} %" if hit else "",
            status.get("gateways", {}).get("display", ""),
            ready.get("message", "the operator has not seen it yet; is it running?"),
        )
    return made


def comparisons(plans: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each RoutingPlan whose arms were both measured: planned against flat routing."""
    return [
        f"{plan['metadata']['namespace']}/{plan['metadata']['name']}: {arms['comparison']}"
        for plan in plans
        if {"plan", "flat"} <= (arms := plan.get("status", {}).get("arms", {})).keys()
    ]


def gateway_rows(plans: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return one row for each RoutingPlan with the state of its proxies."""
    return [
        {
            "gateway": plan["spec"].get("gateway", ""),
            "namespace": plan["metadata"]["namespace"],
            "plan": plan["metadata"]["name"],
            **{
                field: plan.get("status", {}).get("gateways", {}).get(field, 0)
                for field in ("connected", "synced", "rejected")
            },
            "message": _condition(plan, "Synced").get("message", ""),
        }
        for plan in plans
    ]


def _mode(spec: Mapping[str, Any]) -> str:
    """Return the mode, and in mode Canary how much goes by plan."""
    mode = str(spec.get("mode", ""))
    return f"{mode} {spec.get('canaryPercent', '?')} %" if mode == Mode.CANARY else mode


def gateway_table(plans: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row for each RoutingPlan, by gateway."""
    made = table("GATEWAY", "NAMESPACE", "PLAN", "CONNECTED", "SYNCED", "REJECTED", "MESSAGE")
    for row in sorted(gateway_rows(plans), key=lambda one: str(one["gateway"])):
        add(made, *row.values())
    return made


def plan_table(name: str, plan: Plan) -> Table:
    """Return one row for each seat of a stored plan."""
    summary = plan.summary
    made = table("DESTINATION", "POOL", "KEYS", "RATE", "STANDBY FOR")
    made.title = (
        f"{name}: plan {plan.version}, {summary.keys_admitted} of {summary.keys_known} keys, "
        f"{100 * summary.coverage:.0f} % of the rate, imbalance {summary.imbalance:.2f}"
    )
    own, standby = seat_keys(plan)
    rate = _seat_rates(plan)
    for seat in plan.seats:
        name = seat.destination or f"vacant (was {seat.last})"
        at = seat.index
        add(made, name, seat.pool, own[at], f"{rate[at]:.2f}", standby[at])
    return made


def _seat_rates(plan: Plan) -> dict[int, float]:
    """Return the requests/s that are planned on each seat; its keys share theirs evenly."""
    rates = {seat.index: 0.0 for seat in plan.seats}
    for group in plan.groups:
        share = sum(group.rates) / len(group.seats)
        for index in group.seats:
            rates[index] += share
    return rates


def key_rows(plan: Plan, destination: str | None) -> list[Row]:
    """Return the planned keys, busiest first; only those of ``destination`` where one is given."""
    names = {seat.index: seat.name for seat in plan.seats}
    rows: list[Row] = [
        {
            "key": key,
            "ratePerSecond": rate,
            "destinations": sorted(names[index] for index in group.seats),
            "standbys": [names[index] for index in group.standbys],
        }
        for group in plan.groups
        for key, rate in zip(group.keys, group.rates, strict=True)
    ]
    chosen = [row for row in rows if destination is None or destination in row["destinations"]]
    return sorted(chosen, key=lambda row: (-row["ratePerSecond"], row["key"]))


def key_table(name: str, rows: Sequence[Row], total: int) -> Table:
    """Return one row for each key."""
    made = table("KEY", "RATE", "DESTINATIONS", "STANDBYS")
    made.title = f"{name}: {len(rows)} of {total} planned keys"
    for row in rows:
        add(
            made,
            row["key"],
            f"{row['ratePerSecond']:.2f}",
            " ".join(row["destinations"]),
            " ".join(row["standbys"]),
        )
    return made


def _condition(plan: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions = plan.get("status", {}).get("conditions", ())
    return next((one for one in conditions if one["type"] == kind), {})
