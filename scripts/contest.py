"""`make contest`: every policy on the traces of a folder, and whether the diagnosis warned; a part of docs/results.md."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from cacheroute.simulation.contest.contest import contest
from cacheroute.simulation.contest.made_up import judge, workloads
from cacheroute.simulation.contest.report import numbers, part
from cacheroute.simulation.contest.traffic import sources
from cacheroute.simulation.experiments.backends import Backend
from cacheroute.simulation.experiments.cell import Cell, Outcome
from cacheroute.simulation.experiments.progress import progress_bar
from cacheroute.simulation.experiments.sweep import Tell, Workers, sweep
from cacheroute.simulation.paper.calibration import calibration
from cacheroute.simulation.paper.operations import RIVALS
from cacheroute.simulation.paper.parts import with_part
from scripts.simulating import ROOT, exit_code

BUILD = ROOT / "build"
PAGE = ROOT / "docs" / "results.md"


def main(arguments: list[str]) -> int:
    """Simulate and write."""
    options = _parser().parse_args(arguments)
    workers = Workers(options.jobs, Backend.LOKY, None, BUILD / "simulations")
    return exit_code("contest", lambda: _write(Path(options.traces), workers))


def _write(folder: Path, workers: Workers) -> Path:
    results, judged = [], []
    for source in sources(folder):
        with progress_bar(source.name) as tell:
            results.append(contest(source, RIVALS, partial(_run, workers, tell)))
        _say(source.name)
    for study in workloads(calibration()):
        with progress_bar(study.name) as tell:
            judged.append(judge(study, partial(_run, workers, tell)))
        _say(study.name)
    BUILD.mkdir(exist_ok=True)
    (BUILD / "contest.json").write_text(
        json.dumps(numbers(results, judged), indent=1) + "\n", encoding="utf-8"
    )
    PAGE.write_text(with_part(PAGE.read_text("utf-8"), "contest", part(results, judged)), encoding="utf-8")
    return PAGE


def _run(workers: Workers, tell: Tell, cells: Sequence[Cell]) -> list[Outcome]:
    return [one.outcome for one in sweep(cells, workers, tell)]


def _say(name: str) -> None:
    sys.stdout.write(f"{name}: done\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make contest", description=__doc__)
    parser.add_argument("traces", help="folder with the traces, in any format of docs/traces.md")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1: one on each core")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
