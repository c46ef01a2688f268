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
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.backends import Backend
from cacheroute.simulation.experiments.cell import Cell, Outcome
from cacheroute.simulation.experiments.progress import progress_bar
from cacheroute.simulation.experiments.sweep import Tell, Workers, sweep
from cacheroute.simulation.paper.calibration import calibration
from cacheroute.simulation.paper.operations import RIVALS
from cacheroute.simulation.paper.parts import with_part

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PAGE = ROOT / "docs" / "results.md"
INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    """Simulate and write."""
    options = _parser().parse_args(arguments)
    try:
        _write(Path(options.traces), Workers(options.jobs, Backend.LOKY, None, BUILD / "simulations"))
    except SimulationError as error:
        sys.stderr.write(f"contest: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("contest: interrupted; what is done is kept, run it again to go on\n")
        return INTERRUPTED
    sys.stdout.write(f"written {PAGE.relative_to(ROOT)}\n")
    return 0


def _write(folder: Path, workers: Workers) -> None:
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
