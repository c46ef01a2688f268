"""What `cacheroute replay` and `cacheroute simulate` print for people."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cacheroute.cli.tables import add, show, table

_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("prompt tokens from caches", "token_hit", lambda value: f"{100 * value:.1f} %"),
    ("median time to first token", "ttft_p50_seconds", lambda value: f"{value:.3f} s"),
    ("99th percentile of it", "ttft_p99_seconds", lambda value: f"{value:.3f} s"),
    ("worst key's 99th percentile", "worst_key_p99_seconds", lambda value: f"{value:.3f} s"),
    ("busiest destination / mean", "imbalance", lambda value: f"{value:.2f}"),
    ("failed", "failed", lambda value: f"{100 * value:.2f} %"),
    ("GPUs needed for this load", "gpus_needed", lambda value: f"{value:.0f}"),
)


def show_replay(found: Mapping[str, Any], verdict: str) -> None:
    """Print the comparison, the keys that gain and the verdict."""
    title = (
        f"{found['requests']:,} requests, {found['requests_per_second']:.1f} a second, on {found['destinations']} "
        f"destinations {found['engine']}"
    )
    made = table("", "flat", f"planned ({found['policy']})", title=title)
    for name, field, form in _ROWS:
        add(made, name, form(found["flat"][field]), form(found["planned"][field]))
    add(
        made,
        f"requests/s held at p99 ≤ {found['objective_seconds']:g} s",
        *map(_capacity, (found["flat"], found["planned"])),
    )
    keys = table(
        "key", "requests", "hit flat", "hit planned", "mean wait flat", "planned", title="Keys that gain most"
    )
    for key in found["keys"]:
        add(
            keys,
            key["name"],
            f"{key['requests']:,}",
            f"{100 * key['flat_hit']:.1f} %",
            f"{100 * key['planned_hit']:.1f} %",
            f"{key['flat_ttft']:.3f} s",
            f"{key['planned_ttft']:.3f} s",
        )
    diagnosis = f"The planner's own diagnosis, each time from the past only: {found['diagnosis']['words']}."
    show(made, *([keys] if found["keys"] else []), verdict, diagnosis, *caution_lines(found))


def caution_lines(found: Mapping[str, Any]) -> list[str]:
    """Return the cautions of a replay as lines."""
    return [f"Caution: {one}" for one in found["cautions"]]


def _capacity(side: Mapping[str, Any]) -> str:
    return f"{side['capacity_censored']}{side['capacity_requests_per_second']:.1f} ± {side['capacity_half_width']:.1f}"


def show_simulation(found: Mapping[str, Any]) -> None:
    """Print figures by policy and load, and the capacities."""
    made = table("policy", "requests/s", "hit %", "p50 s", "p99 s", "max/mean", "worst key p99 s", "failed %")
    for row in found["runs"]:
        add(
            made,
            row["policy"],
            f"{row['load']:g}",
            *(f"{row[field]:.{digits}f}" for field, digits in _COLUMNS),
        )
    show(made, _capacities(found["capacities"], found["objective_seconds"]))


_COLUMNS = (
    ("hit_percent", 1),
    ("ttft_p50_seconds", 3),
    ("ttft_p99_seconds", 3),
    ("imbalance", 2),
    ("worst_key_p99_seconds", 3),
    ("failed_percent", 2),
)


def _capacities(rows: Sequence[Mapping[str, Any]], objective: float) -> Any:
    made = table("policy", f"capacity at p99 ≤ {objective:g} s, requests/s", "")
    for row in rows:
        sides = {"below": "below the lowest load", "above": "the highest load still holds"}
        interval = f" ± {row['half_width']:.0f}" if row["half_width"] else ""
        add(made, row["policy"], f"{row['mean']:.0f}{interval}", sides.get(row["censored"], ""))
    return made
