"""The section on the gateway in docs/benchmarks.md, from the results of `make bench-gateway`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TITLE = "## The gateway"
ROWS = ("cost", "push", "proxies", "loss", "flood", "counters")


def missing(folder: Path) -> list[Path]:
    """Return the results that are not there."""
    return [path for path in _paths(folder) if not path.is_file()]


def section(folder: Path) -> str:
    """Return the section; every result must be there."""
    rows = [json.loads(path.read_text("utf-8")) for path in _paths(folder)]
    return "\n".join(
        (
            TITLE,
            "",
            _HOW_TO_READ,
            _machine(rows),
            *(line for row in rows for line in _table(row)),
            "",
        )
    )


def _machine(rows: list[dict[str, Any]]) -> str:
    place = rows[0]["machine"]
    loads = [row["machine"]["load_average"] for row in rows]
    return (
        f"Machine: {place['cpu']}, {place['cores']} cores, load average {min(loads)} to {max(loads)} at the end of the rows; "
        f"{place['system']}, Envoy {place['envoy']}, {place['router']}."
    )


def _paths(folder: Path) -> list[Path]:
    return [folder / f"gateway-{name}.json" for name in ROWS]


def _table(row: dict[str, Any]) -> Iterator[str]:
    yield from (
        "",
        f"### {row['title']}",
        "",
        "| figure | measured | target | verdict | note |",
        "|---|---|---|---|---|",
    )
    for one in row["figures"]:
        yield f"| {one['what']} | {one['value']:,g} {one['unit']} | {one['wanted']} | {one['verdict']} | {one['note']} |"
    if "curve" in row:
        points = ", ".join(
            f"{keys:,}: {envoy:.0f} / {operator:.0f}" for keys, envoy, operator in row["curve"]
        )
        yield from ("", f"Keys so far: MB of Envoy / of the operator. {points}.")


_HOW_TO_READ = """Written by `make bench-gateway plots`: a real Envoy with one worker, real processes around it, load by wrk. Seconds differ
from machine to machine, so costs are **ratios within one run**: what is compared is loaded in turn, second by second, and the
ratio is the median over the rounds of the ratio within a round. Costs are processor seconds of the Envoy process (/proc/PID/stat),
not latency, which on a small machine is mostly waiting. *Plain Envoy*: a static listener and cluster, LEAST_REQUEST with two choices,
and nothing else: no key, no counters, no usage, no retries, no outlier detection; *with retries* it also keeps each request until it is answered, as ours does. *Ours* does all of that, with 100,000 keys planned; every answer carries a `usage`.
*Any model*: the only plan of the gateway serves `*`, so that a key in a header needs no look into the body; with a *named model* the body
is read for its `model`. *The router* is vllm-router with `--policy consistent_hash`.
A figure that must hold each time shows the worst repetition, every other the median; `build/bench/gateway-*.json` has all of them.
`make bench-gateway BENCH='--only loss'` measures one row, `BENCH=--quick` whether it runs at all.
"""
