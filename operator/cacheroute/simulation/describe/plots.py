"""Pictures of a description, as SVG."""

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "svg.hashsalt": "cacheroute",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_DAYS_BY_HOUR = 14
"""Longer traces are drawn by day."""
Document = dict[str, Any]


def pictures(document: Document) -> dict[str, str]:
    """Return SVG elements by their titles: those that the description has figures for."""
    found = {}
    for title, wanted, draw in _PICTURES:
        if wanted(document):
            found[title] = _svg(draw, document)
    return found


def _svg(draw: Callable[[Axes, Document], None], document: Document) -> str:
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(5.4, 3.0), layout="constrained")
        draw(axes, document)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _volume(axes: Axes, document: Document, names: tuple[str, ...], unit: str) -> None:
    volume = document["volume"]
    by_day = len(volume["by_day"]["requests"]) > _DAYS_BY_HOUR
    series = volume["by_day" if by_day else "by_hour"]
    for name in names:
        axes.plot(series[name], drawstyle="steps-mid", label=name.replace("_", " "), linewidth=1.2)
    what = "day" if by_day else "hour"
    axes.set(xlabel=f"{what} of the trace", ylabel=f"{unit} per {what}")
    if len(names) == 1:
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log", nonpositive="clip")
        axes.legend(frameon=False)


def _requests(axes: Axes, document: Document) -> None:
    _volume(axes, document, ("requests",), "requests")


def _tokens(axes: Axes, document: Document) -> None:
    _volume(axes, document, ("prompt_tokens", "output_tokens"), "tokens")


def _lengths(axes: Axes, document: Document) -> None:
    for name in ("prompt", "output") if document["output"] else ("prompt",):
        _curve(axes, document[name]["curve"], name)
    axes.set(xlabel="tokens", ylabel="share of requests", ylim=(0, 1))
    axes.legend(frameon=False)


def _curve(axes: Axes, curve: list[tuple[float, float]], label: str = "") -> None:
    """Draw a distribution over a logarithm; what is 0 stands at the left edge."""
    numbers, shares = np.array(curve).T
    positive = numbers[numbers > 0]
    axes.plot(
        np.maximum(numbers, positive.min() if positive.size else 1.0), shares, label=label, linewidth=1.2
    )
    axes.set_xscale("log")


def _drift(axes: Axes, document: Document) -> None:
    months = document["volume"]["by_month"]
    for name, colour in (("prompt", "C0"), ("output", "C1")):
        bands = {at: [month[name][at] for month in months] for at in ("p10", "p25", "p50", "p75", "p90")}
        places = range(len(months))
        axes.fill_between(places, bands["p10"], bands["p90"], color=colour, alpha=0.15, linewidth=0)
        axes.fill_between(places, bands["p25"], bands["p75"], color=colour, alpha=0.3, linewidth=0)
        axes.plot(places, bands["p50"], color=colour, marker="o", markersize=3, label=f"{name}, median")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xticks(range(len(months)), [month["month"] for month in months], rotation=45)
    axes.set(ylabel="tokens")
    axes.legend(frameon=False)


def _skew(axes: Axes, document: Document) -> None:
    for name in ("keys", "models"):
        if document[name]:
            count, share = np.array(document[name]["requests"]["curve"]).T
            axes.plot(count, share, label=f"{name}, by requests", linewidth=1.2)
    axes.set(xscale="log", xlabel="the n largest", ylabel="share of requests", ylim=(0, 1))
    axes.legend(frameon=False)


def _hits(axes: Axes, document: Document) -> None:
    counts = np.array(document["prefix"]["hits"]["histogram"])
    axes.bar(np.arange(counts.size) / counts.size, counts / counts.sum(), width=1 / counts.size, align="edge")
    axes.set(xlabel="cached share of the prompt", ylabel="share of requests", xlim=(0, 1))


def _hits_by_prompt(axes: Axes, document: Document) -> None:
    rows = document["prefix"]["hits"]["by_prompt"]
    axes.plot(
        [row["from_tokens"] for row in rows], [row["token_hit"] for row in rows], marker="o", markersize=3
    )
    axes.set(xscale="log", xlabel="prompt tokens, from", ylabel="token hit ratio", ylim=(0, 1))


def _reuse(axes: Axes, document: Document) -> None:
    _curve(axes, document["prefix"]["reuse_times"]["curve"])
    for seconds in (0.1, 10, 60, 900):
        axes.axvline(seconds, color="grey", linestyle=":", linewidth=1)
    axes.set(xlabel="seconds since the pair's last request", ylabel="share of returns", ylim=(0, 1))


def _always(_: Document) -> bool:
    return True


_PICTURES: tuple[tuple[str, Callable[[Document], bool], Callable[[Axes, Document], None]], ...] = (
    ("Requests", _always, _requests),
    ("Tokens", _always, _tokens),
    ("Lengths of prompts and answers", _always, _lengths),
    ("Drift of lengths (p10-p90, p25-p75, median)", lambda one: len(one["volume"]["by_month"]) > 1, _drift),
    ("Skew", lambda one: bool(one["keys"] or one["models"]), _skew),
    ("Cached share of the prompt", lambda one: bool(one["prefix"]["hits"]), _hits),
    ("Token hit by prompt length", lambda one: bool(one["prefix"]["hits"]), _hits_by_prompt),
    ("How soon a user returns to a model", lambda one: bool(one["prefix"]["reuse_times"]), _reuse),
)
