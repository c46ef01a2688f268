"""docs/results.md from the sections of all studies."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cacheroute.simulation.experiments.digest import code_version
from cacheroute.simulation.paper.calibration import stored
from cacheroute.simulation.paper.parts import parts_of, with_part
from cacheroute.simulation.paper.plots import draw, file_name
from cacheroute.simulation.paper.study import Agreement, Section, Told


@dataclass(frozen=True, slots=True)
class Chapter:
    """A study that was run.

    Attributes:
        study: what was asked.
        section: what came out.
        simulations: how many.
        seconds: time of a processor that all of them took.
    """

    study: Told
    section: Section
    simulations: int
    seconds: float


def write_report(chapters: Sequence[Chapter], page: Path, images: Path) -> None:
    """Write the page and its pictures; parts of the page that others write stay."""
    images.mkdir(parents=True, exist_ok=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        for number, plot in enumerate(chapter.section.plots):
            draw(plot, images / file_name(chapter.study.name, number))
    text = "\n".join(_lines(chapters, images.name))
    for name, part in parts_of(page.read_text("utf-8") if page.is_file() else "").items():
        text = with_part(text, name, part)
    page.write_text(text, encoding="utf-8")


def machine() -> str:
    """Return where this was run, for people."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def _lines(chapters: Sequence[Chapter], images: str) -> list[str]:
    lines = [
        "# Results",
        "",
        "Written by `make paper`; nothing here is typed by hand. Simulated fleets ([simulation.md](simulation.md)) beside the results of CacheRoute (arXiv 2608.19677), and replayed caches beside those of A Year in LLM Serving (arXiv 2608.13573, chapters F).",
        "",
        (
            f"Machine: {machine()}. Code of the simulators: `{code_version()[:12]}`. Seeds are 0, 1, 2, … of each table. Intervals are 95 % by Student's t over the seeds. "
            "`<` and `≥` mark capacities that are censored: some seed's lies below the lowest load, or at the highest load, that was tried."
        ),
        "",
        *_calibrated(),
        "",
        "## Agreement",
        "",
        *_agreements(chapters),
        "",
    ]
    for chapter in chapters:
        lines += _chapter(chapter, images)
    return lines


def _calibrated() -> list[str]:
    found = stored()
    hits = "; ".join(
        f"{name} {100 * one['ours']:.1f} % (paper {100 * one['paper']:.1f} %)"
        for name, one in found["hits"].items()
    )
    knees = "; ".join(
        f"{name} {one['ours']:.0f} (paper {one['paper']:.0f}) requests/s"
        for name, one in found["capacities"].items()
    )
    sizes = found["prompts"]
    return [
        "## Calibration",
        "",
        (
            "Absolute loads of the paper cannot be had from public service times. Two numbers are fitted to the two capacities at 3.5 s of table 1, and the sizes of a prompt's parts to the two hits; "
            "**every other number on this page is untouched**: what counts are ratios and orders."
        ),
        "",
        (
            f"A token takes {found['slowdown']:g} times as long to compute as public measurements of the operators say; answers have {sizes['output']} tokens in the mean. A prompt is {sizes['template']} tokens that all "
            f"share, {sizes['segment']} of its key, {sizes['document']} of one of its key's {sizes['documents']} documents, and {sizes['turn']} of its own."
        ),
        f"Hits: {hits}. Capacities: {knees}. How: {found['how']}",
    ]


def _agreements(chapters: Sequence[Chapter]) -> list[str]:
    judged = [(one, one.section.agreement) for one in chapters if one.section.agreement is not None]
    if not judged:
        return ["Nothing was compared with the paper."]
    total = sum((found for _one, found in judged), Agreement())
    lines = [
        (
            f"Of {total.compared} comparisons of two policies that the papers separate (by more than 5 %), **{total.same} have the same direction here, {total.unseparated} are not separated here, "
            f"and {len(total.opposite)} are opposite**."
        ),
        "",
        "| table | same direction | not separated here | opposite |",
        "|---|---|---|---|",
    ]
    return lines + [
        f"| {one.study.name} | {found.same} | {found.unseparated} | {len(found.opposite)} |"
        for one, found in judged
    ]


def _chapter(chapter: Chapter, images: str) -> list[str]:
    study, section = chapter.study, chapter.section
    lines = [f"## {study.name}: {study.title}", "", study.about, ""]
    lines += [f"| {' | '.join(section.heading)} |", "|" + "---|" * len(section.heading)]
    lines += [f"| {' | '.join(row)} |" for row in section.rows]
    lines += ["", *(f"* {statement}" for statement in section.statements)]
    lines += agreement_lines(section.agreement)
    lines += [
        f"* {chapter.simulations} simulations or replays, {chapter.seconds:.0f} s of a processor.",
        "",
        *(f"![{plot.title}]({images}/{file_name(study.name, n)})" for n, plot in enumerate(section.plots)),
        "",
    ]
    return lines


def agreement_lines(found: Agreement | None) -> list[str]:
    """Return the verdict on a table, and what is opposite."""
    if found is None:
        return []
    if not found.compared:
        return ["* The paper separates nothing that is compared here."]
    verdict = "**Agrees**" if found.same else "**Nothing is separated here**"
    verdict = "**Disagrees in part**" if found.opposite else verdict
    lines = [
        (
            f"* {verdict}: of {found.compared} comparisons that the paper separates, {found.same} have the same direction, "
            f"{found.unseparated} are not separated here, {len(found.opposite)} are opposite."
        )
    ]
    return lines + [f"  * {words}." for words in found.opposite]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
