"""What the user sees of `cacheroute demo --drift`."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cacheroute.demo.drift_result import WANTED_GAIN, DriftResult
from cacheroute.demo.ledger import Arm, Ledger, Row
from cacheroute.demo.view import LATE_MS


def picture(ledger: Ledger, seconds: float) -> RenderableType:
    """Return the live table: every interval so far."""
    course = ledger.course
    heading = f"policy {ledger.policy}  {min(seconds, course.total):.0f}/{course.total:.0f} s"
    table = Table()
    for name in ("interval", "policy", "token hit", "keys moved", "new keys", "max / mean"):
        table.add_column(name, justify="right")
    for number in range(course.at(seconds) + 1):
        row = ledger.row(number)
        table.add_row(*_cells(row, ledger), style="" if row.counted else "dim")
    return Group(Text(heading, style="bold"), table, Text(f"failed {ledger.failed}"))


def _cells(row: Row, ledger: Ledger) -> tuple[str, ...]:
    found, shift = row.figures, row.shift
    return (
        label(row, ledger),
        ledger.policy.value,
        f"{found.hit_percent:.1f} %" if found.requests else "–",
        f"{shift.moved} of {shift.keys} ({shift.moved_percent:.1f} %)",
        str(shift.admitted),
        f"{found.max_over_mean:.2f}" if found.requests else "–",
    )


def label(row: Row, ledger: Ledger) -> str:
    """Return the name of an interval: its number among those that count, from 1."""
    return str(row.number - ledger.course.warm + 1) if row.counted else "warm-up"


def line(row: Row, ledger: Ledger) -> str:
    """Return an interval as one line."""
    interval, policy, hit, moved, new, load = _cells(row, ledger)
    where = f"{interval}/{ledger.course.counted}" if row.counted else interval
    return f"  {policy} {where}: token hit {hit}, keys moved {moved}, new {new}, max/mean {load}, failed {ledger.failed}"


def summary(result: DriftResult) -> Table:
    """Return the table of both policies."""
    table = Table("", title="CacheRoute demo: drifting rates")
    arms = (result.paper, result.stable)
    for arm in arms:
        table.add_column(arm.policy.value, justify="right")
    for name, *cells in zip(_NAMES, *(_column(arm) for arm in arms), strict=True):
        table.add_row(name, *cells)
    return table


_NAMES = (
    "served token hit",
    "keys moved per interval",
    "keys new to the plan",
    "rate landing cold per interval",
    "max / mean load of an interval",
    "TTFT p50",
    "TTFT p99",
    "requests answered",
    "requests failed, warm-up included",
    "generator late, p99",
)


def _column(arm: Arm) -> tuple[str, ...]:
    found = arm.figures
    return (
        f"{found.hit_percent:.1f} %",
        f"{arm.moved:.0f} ({arm.moved_percent:.1f} %)",
        f"{arm.admitted:.0f}",
        f"{arm.cold_percent:.1f} %",
        f"{arm.max_over_mean:.2f}",
        f"{found.ttft_p50_ms:.0f} ms",
        f"{found.ttft_p99_ms:.0f} ms",
        str(found.requests),
        str(arm.failed),
        f"{found.lag_p99_ms:.0f} ms",
    )


def verdict(result: DriftResult) -> list[str]:
    """Return the sentences under the table."""
    sentences = [_comparison(result), _REASON]
    if max(result.stable.figures.lag_p99_ms, result.paper.figures.lag_p99_ms) > LATE_MS:
        sentences.append(
            "[yellow]The generator was late: this machine is too slow or too busy for this --rate.[/yellow]"
        )
    return sentences + [f"[red]failed: {complaint}[/red]" for complaint in result.damage.complaints]


_REASON = (
    "Why: Paper plans from scratch each interval, and a key that moves finds a cold cache. Stable starts from the plan "
    "in force and moves only what balances the engines. Both got the same requests, each on a fresh fleet."
)


def _comparison(result: DriftResult) -> str:
    style = "green" if result.good else "red"
    return (
        f"[{style}]Policy Stable: {result.gain:+.1f} points of served token hit over Paper, {result.damage.failed} "
        f"failed requests[/{style}] (wanted: {WANTED_GAIN:+.0f} points and no failed request), "
        f"{len(result.stable.rows)} intervals each, in {result.seconds:.0f} s."
    )
