"""The difference of two plans, printed; the same for files and for a cluster."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from cacheroute.cli.output import Output, write
from cacheroute.cli.tables import add, facts, show, table
from cacheroute.domain.comparison import Comparison, FleetChange, KeyMove, Side
from cacheroute.domain.phases import EXPLANATIONS

INHERITED = "another destination took its place"
_NAMES = 5


def print_comparison(found: Comparison, output: Output, limit: int) -> None:
    """Print the totals and the first ``limit`` keys."""
    if output is not Output.TABLE:
        write(document(found, limit), output)
        return
    show(totals(found))
    if found.moves:
        show(moves(found, limit))


def document(found: Comparison, limit: int) -> dict[str, Any]:
    """Return the difference as JSON types, with the first ``limit`` keys."""
    fleet = found.fleet
    return {
        "different": found.different,
        "before": _side(found.before),
        "after": _side(found.after),
        "keys": {"moved": found.moved, "admitted": found.admitted, "dropped": found.dropped},
        "standbysChanged": found.standbys,
        "rewarm": found.rewarm,
        "churn": found.churn,
        "destinations": {
            "joined": list(fleet.joined),
            "left": list(fleet.left),
            "vacated": list(fleet.vacated),
            "returned": list(fleet.returned),
        },
        "moves": [_move(one) for one in found.moves[:limit]],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "version": side.version,
        "revision": side.revision,
        "installed": side.installed,
        "keysAdmitted": side.summary.keys_admitted,
        "coverage": side.summary.coverage,
        "imbalance": side.summary.imbalance,
    }


def _move(move: KeyMove) -> dict[str, Any]:
    return {
        "key": move.key,
        "rate": move.rate,
        "from": list(move.before),
        "to": list(move.after),
        "cause": move.cause.value if move.cause else None,
        "inherited": move.inherited,
    }


def totals(found: Comparison) -> Table:
    """Return the sums."""
    before, after = found.before.summary, found.after.summary
    if not found.different:
        return facts(("plans", f"{found.before.version} and {found.after.version} route alike"))
    return facts(
        ("plans", f"{found.before.version} to {found.after.version}"),
        ("keys", f"{found.moved} moved, {found.admitted} admitted, {found.dropped} dropped"),
        ("rewarm", f"{100 * found.rewarm:.2f} % of the rate lands on destinations new to their key"),
        ("churn", f"{found.churn:.4f}"),
        ("standbys", f"{found.standbys} changed"),
        ("coverage", f"{100 * before.coverage:.1f} % to {100 * after.coverage:.1f} %"),
        ("imbalance", f"{before.imbalance:.3f} to {after.imbalance:.3f}"),
        ("destinations", _fleet(found.fleet)),
    )


def _fleet(fleet: FleetChange) -> str:
    parts = (
        (fleet.joined, "joined"),
        (fleet.left, "left"),
        (fleet.vacated, "vacated"),
        (fleet.returned, "came back"),
    )
    return "; ".join(f"{_some(names)} {what}" for names, what in parts if names)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def moves(found: Comparison, limit: int) -> Table:
    """Return one row for each of the first ``limit`` keys."""
    made = table("KEY", "RATE", "FROM", "TO", "BECAUSE")
    for one in found.moves[:limit]:
        add(made, one.key, f"{one.rate:.4g}", _where(one.before), _where(one.after), _why(one))
    hidden = len(found.moves) - limit
    if hidden > 0:
        add(made, f"and {hidden} more", "", "", "", "--limit shows more")
    return made


def _where(names: Sequence[str]) -> str:
    return " ".join(names) or "(cold)"


def _why(move: KeyMove) -> str:
    if move.inherited:
        return INHERITED
    return EXPLANATIONS[move.cause] if move.cause else ""
