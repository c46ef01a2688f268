"""`make plots`: the pictures of docs/ and docs/benchmarks.md from build/bench/*.json, after `make bench`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

from scripts import gateway_page

ROOT = Path(__file__).resolve().parent.parent
BENCH, IMAGES = ROOT / "build" / "bench", ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "benchmarks.md"
TIMES = {
    "planner-paper-top": "Paper, the 3,840 busiest keys admitted",
    "planner-paper-all": "Paper, every key admitted",
    "planner-stable-step": "Stable, one drift step",
    "planner-stable-million": "Stable, one drift step",
}
SIMULATORS = {
    "token-replay-1m-load-first": "1,000,000 requests of token replay, routed by load first, one core (10 s asked)",
    "token-replay-1m-cache-first": "the same, routed by cache first",
    "fleet-table-70b": "the 70B table: 6 policies, 10 loads, 5 seeds, two cores (15 min asked)",
    "trace-describe-1gb": "`cacheroute trace describe` of a made-up access log of 1 GB",
    "trace-describe-10gb": "`cacheroute trace describe` of one of 10 GB (2 GB of memory asked); not part of `make bench`",
}
STUDIES = {"drift-k128": "128 keys", "drift-k2000": "2,000 keys"}
_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "svg.hashsalt": "cacheroute",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def main() -> int:
    """Draw and write what there are measurements of; the rest of the page stays as it is."""
    missing = [BENCH / f"{name}.json" for name in (*TIMES, *STUDIES)]
    missing = [path for path in missing if not path.is_file()]
    without_gateway = gateway_page.missing(BENCH)
    if missing and without_gateway:
        sys.stderr.write(
            f"plots: {missing[0]} is not there; run `make bench` or `make bench-gateway` first\n"
        )
        return 2
    planner, _, gateway = PAGE.read_text("utf-8").partition(gateway_page.TITLE)
    planner = planner if missing else _draw_all()
    gateway = gateway_page.TITLE + gateway if without_gateway else gateway_page.section(BENCH)
    PAGE.write_text(f"{planner.rstrip()}\n\n{gateway.rstrip()}\n", encoding="utf-8")
    sys.stdout.write(f"written {PAGE.relative_to(ROOT)}\n")
    for path in (missing + without_gateway)[:1]:
        sys.stdout.write(f"its other part is as it was: {path.relative_to(ROOT)} is not there\n")
    return 0


def _draw_all() -> str:
    """Draw the pictures of the planner; return its part of the page."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, title in STUDIES.items():
        path = IMAGES / f"{name}.svg"
        _draw(_result(name), title, path)
        sys.stdout.write(f"drawn {path.relative_to(ROOT)}\n")
    return _page({name: _result(name) for name in (*TIMES, *STUDIES)})


def _result(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((BENCH / f"{name}.json").read_text(encoding="utf-8"))
    return result


def _page(results: dict[str, dict[str, Any]]) -> str:
    """Return the planner's part of docs/benchmarks.md."""
    machine = results[next(iter(TIMES))]["machine"]
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench plots`; nothing here is typed by hand. Times are medians of 7 runs on one core. The baseline is measured in the same run. Bytes a key: the most that one call has allocated at a time, over the number of keys.",
            f"Machine: {machine['cpu']}, {machine['cores']} cores, shared with other work; {machine['system']}, Python {machine['python']}, numpy {machine['numpy']}.",
            "",
            "## Time of one plan",
            "",
            "| benchmark | what | keys | destinations | slots | median ms | baseline ms | ratio | bytes a key |",
            "|---|---|---|---|---|---|---|---|---|",
            *(_time_row(name, what, results[name]) for name, what in TIMES.items()),
            "",
            "## Drift",
            "",
            "Rates drift by a lognormal step of sigma 0.3 an interval, drawn back so that the spread stays that of the six intervals of the paper; 30 destinations, 50 steps, 5 seeds, nothing held.",
            "*Free walk*: not drawn back. *Moved by balance*: the most that rebalancing moved in one interval; the rest of what lands cold are counts that had to rise.",
            "",
            "| keys | policy | keys moved a step | rate that lands cold | moved by balance, at most | max/mean, worst step | max/mean, mean |",
            "|---|---|---|---|---|---|---|",
            *(row for name, title in STUDIES.items() for row in _drift_rows(title, results[name])),
            "",
            "## Traces and simulators",
            "",
            "| benchmark | what | time | baseline | ratio | most memory |",
            "|---|---|---|---|---|---|",
            *(_simulator_row(name, what) for name, what in SIMULATORS.items() if _is_measured(name)),
            "",
        ]
    )


def _time_row(name: str, what: str, one: dict[str, Any]) -> str:
    return (
        f"| `{name}` | {what} | {one['keys']:,} | {one['destinations']:,} | {one['slots']:,} | {one['value']:.1f} | "
        f"{one['baseline']:.1f} ({one['baseline_name']}) | {one['ratio']:.2f} | {one.get('bytes_per_key', '')} |"
    )


def _is_measured(name: str) -> bool:
    return (BENCH / f"{name}.json").is_file()


def _simulator_row(name: str, what: str) -> str:
    one = _result(name)
    memory = f"{one['peak_mb']:,.0f} MB" if "peak_mb" in one else ""
    time, baseline = (f"{one[key]:,.0f} {one['unit']}" for key in ("value", "baseline"))
    return f"| `{name}` | {what} | {time} | {baseline} ({one['baseline_name']}) | {one['ratio']:.2f} | {memory} |"


def _drift_rows(title: str, study: dict[str, Any]) -> Iterator[str]:
    rows = {
        "Paper": study["paper"],
        "Stable, no budget": study["without_budget"],
        **{f"Stable, budget {budget} %": fields for budget, fields in study["budgets"].items()},
        "Stable, no budget, free walk": study["free_walk"],
    }
    for policy, fields in rows.items():
        yield (
            f"| {title} | {policy} | {fields['keys_moved_percent']:.2f} % | {fields['rate_cold_percent']:.2f} % | "
            f"{fields['largest_optional_percent']:.2f} % | {fields['max_over_mean']:.3f} | "
            f"{fields['mean_max_over_mean']:.3f} |"
        )


def _draw(study: dict[str, Any], title: str, path: Path) -> None:
    """Draw what lands cold and how even the load is, step by step, one curve for each budget."""
    curves = {
        "Paper": study["paper"],
        **{f"Stable, budget {budget} %": fields for budget, fields in study["budgets"].items()},
        "Stable, no budget": study["without_budget"],
    }
    with plt.rc_context(_STYLE):
        figure, (cold, even) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
        for label, fields in curves.items():
            steps = range(1, len(fields["cold_by_step"]) + 1)
            cold.plot(steps, fields["cold_by_step"], label=label, linewidth=1.2)
            even.plot(steps, fields["imbalance_by_step"], label=label, linewidth=1.2)
        cold.set(
            title=f"{title}: rate that lands cold", xlabel="interval", ylabel="% of the rate", yscale="log"
        )
        even.set(title=f"{title}: balance", xlabel="interval", ylabel="max / mean load")
        even.axhline(1.10, color="grey", linestyle=":", linewidth=1)
        figure.legend(*cold.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
