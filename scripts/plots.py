"""`make plots`: the pictures and the figures of docs/ from build/bench/*.json, after `make bench`."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
BENCH, IMAGES = ROOT / "build" / "bench", ROOT / "docs" / "images"
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
    """Draw every picture whose measurements are there; say which are missing."""
    missing = [name for name in STUDIES if not (BENCH / f"{name}.json").is_file()]
    if missing:
        sys.stderr.write(f"plots: {BENCH / missing[0]}.json is not there; run `make bench` first\n")
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, title in STUDIES.items():
        path = IMAGES / f"{name}.svg"
        _draw(json.loads((BENCH / f"{name}.json").read_text(encoding="utf-8")), title, path)
        sys.stdout.write(f"drawn {path.relative_to(ROOT)}\n")
    return 0


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
