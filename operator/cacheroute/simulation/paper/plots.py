"""Pictures of the report."""

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

from cacheroute.simulation.paper.study import Curves

_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "svg.hashsalt": "cacheroute",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_MARKERS = "os^Dv<>pX*"
PAPER = ", paper"
"""End of the names of curves that are published: dashed, in the colour of ours."""


def file_name(study: str, number: int = 0) -> str:
    """Return the name of a study's picture."""
    stem = re.sub(r"[^a-z0-9]+", "-", study.lower()).strip("-")
    return f"results-{stem}{f'-{number}' if number else ''}.svg"


def draw(plot: Curves, path: Path) -> None:
    """Write one picture as SVG."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
        colours: dict[str, Any] = {}
        for marker, (name, points) in zip(cycle(_MARKERS), plot.curves.items(), strict=False):
            base, theirs = name.removesuffix(PAPER), name.endswith(PAPER)
            drawn = axes.plot(
                *zip(*points, strict=True), marker=marker, markersize=3.5, linewidth=1.2, label=name
            )
            drawn[0].set(
                linestyle="--" if theirs else "-", color=colours.setdefault(base, drawn[0].get_color())
            )
        if plot.limit is not None:
            axes.axhline(plot.limit, color="grey", linestyle=":", linewidth=1)
        axes.set(title=plot.title, xlabel=plot.across, ylabel=plot.up)
        if plot.logarithmic:
            axes.set_yscale("log")
        if plot.across_logarithmic:
            axes.set_xscale("log")
        figure.legend(loc="outside right upper", frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
