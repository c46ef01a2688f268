"""RoutingPlans and stored plans as tables for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cacheroute.domain.plan import Plan

Row = dict[str, Any]


def show(table: Table) -> None:
    """Print a table; without a terminal it is as wide as it needs to be, so that nothing is cut."""
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        console = Console(width=10_000, soft_wrap=True)
    console.print(table)


def status_table(plans: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row for each RoutingPlan."""
    table = _table("NAMESPACE", "NAME", "READY", "MODE", "KEYS", "COVERAGE", "DESTS", "HIT", "SYNCED", "WHY")
    for plan in plans:
        status, ready = plan.get("status", {}), _condition(plan, "Ready")
        in_force = status.get("plan", {})
        hit = status.get("served", {}).get("tokenHitPercent")
        _add(
            table,
            plan["metadata"]["namespace"],
            plan["metadata"]["name"],
            ready.get("status", "Unknown"),
            plan["spec"].get("mode", ""),
            in_force.get("keys", {}).get("display", ""),
            f"{in_force['coveragePercent']} %" if in_force else "",
            status.get("destinations", {}).get("display", ""),
            f"{hit} %" if hit else "",
            status.get("gateways", {}).get("display", ""),
            ready.get("message", "the operator has not seen it yet; is it running?"),
        )
    return table


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


def gateway_table(plans: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row for each RoutingPlan, by gateway."""
    table = _table("GATEWAY", "NAMESPACE", "PLAN", "CONNECTED", "SYNCED", "REJECTED", "MESSAGE")
    for row in sorted(gateway_rows(plans), key=lambda one: str(one["gateway"])):
        _add(table, *row.values())
    return table


def plan_table(name: str, plan: Plan) -> Table:
    """Return one row for each seat of a stored plan."""
    summary = plan.summary
    table = _table("DESTINATION", "POOL", "KEYS", "RATE", "STANDBY FOR")
    table.title = (
        f"{name}: plan {plan.version}, {summary.keys_admitted} of {summary.keys_known} keys, "
        f"{100 * summary.coverage:.0f} % of the rate, imbalance {summary.imbalance:.2f}"
    )
    for seat in plan.seats:
        own = [group for group in plan.groups if seat.index in group.seats]
        _add(
            table,
            seat.destination or f"vacant (was {seat.last})",
            seat.pool,
            sum(len(group.keys) for group in own),
            f"{sum(sum(group.rates) / len(group.seats) for group in own):.2f}",
            sum(len(group.keys) for group in plan.groups if seat.index in group.standbys),
        )
    return table


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
    table = _table("KEY", "RATE", "DESTINATIONS", "STANDBYS")
    table.title = f"{name}: {len(rows)} of {total} planned keys"
    for row in rows:
        _add(
            table,
            row["key"],
            f"{row['ratePerSecond']:.2f}",
            " ".join(row["destinations"]),
            " ".join(row["standbys"]),
        )
    return table


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _add(table: Table, *cells: object) -> None:
    """Add a row; what comes from a cluster is shown as it is, never read as markup."""
    table.add_row(*(escape(str(cell)) for cell in cells))


def _condition(plan: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions = plan.get("status", {}).get("conditions", ())
    return next((one for one in conditions if one["type"] == kind), {})
