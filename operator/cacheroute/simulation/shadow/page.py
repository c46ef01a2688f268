"""The HTML report of a replay: one file, with its plots inside."""

import io
from importlib.resources import files
from typing import Any

import jinja2
import matplotlib as mpl
import numpy as np

from cacheroute.simulation.shadow.replay import Answer
from cacheroute.simulation.shadow.verdict import document, keys_that_gain

mpl.use("svg")
from matplotlib import pyplot as plt

_COLOURS = {"flat": "#b0473b", "planned": "#2a6f97"}
_STYLE: Any = {
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.hashsalt": "cacheroute",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_BINS = 40


def page(
    answer: Answer, names: tuple[str, ...], left_out: int, source: str, cautions: tuple[str, ...] = ()
) -> str:
    """Return the report.

    Args:
        answer: of the replay.
        names: of keys.
        left_out: requests that no engine could serve.
        source: what was replayed, for people.
        cautions: what a reader of the verdict has to know.
    """
    text = files("cacheroute.simulation.shadow").joinpath("page.html.j2").read_text("utf-8")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(text)
    return template.render(
        found=document(answer, names, left_out, cautions),
        keys=keys_that_gain(answer, names),
        source=source,
        plots=[_waits(answer), _hits(answer), _capacities(answer)],
    )


def _waits(answer: Answer) -> str:
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
        for name, side in (("flat", answer.flat), ("planned", answer.planned)):
            waits = np.sort(side.ttft[np.isfinite(side.ttft)])
            axes.plot(waits, np.linspace(0, 100, waits.size), label=name, color=_COLOURS[name], linewidth=1.6)
        axes.axvline(answer.question.objective, color="grey", linestyle=":", linewidth=1)
        axes.set(
            title="How long requests wait for the first token",
            xlabel="seconds",
            ylabel="% of requests",
            xscale="log",
        )
        axes.legend(frameon=False)
        return _svg(figure)


def _hits(answer: Answer) -> str:
    times, prompt = answer.work.arrival[answer.judged], answer.work.prompt[answer.judged]
    parts = np.array_split(np.arange(times.size), min(_BINS, times.size))
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
        for name, side in (("flat", answer.flat), ("planned", answer.planned)):
            hits = [100.0 * side.cached[part].sum() / prompt[part].sum() for part in parts]
            axes.plot(
                [times[part].mean() / 60 for part in parts],
                hits,
                label=name,
                color=_COLOURS[name],
                linewidth=1.6,
            )
        axes.set(title="Prompt tokens found in caches", xlabel="minutes", ylabel="%", ylim=(0, 100))
        axes.legend(frameon=False)
        return _svg(figure)


def _capacities(answer: Answer) -> str:
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
        sides = (answer.flat.capacity, answer.planned.capacity)
        axes.bar(
            list(_COLOURS),
            [one.value for one in sides],
            yerr=[one.half_width for one in sides],
            color=list(_COLOURS.values()),
            width=0.55,
            capsize=4,
        )
        axes.axhline(answer.rate, color="grey", linestyle=":", linewidth=1)
        axes.set(
            title=f"Load that the fleet holds at p99 ≤ {answer.question.objective:g} s (dotted: today)",
            ylabel="requests/s",
        )
        return _svg(figure)


def _svg(figure: Any) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
