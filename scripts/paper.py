"""`make paper`: simulate every table and write docs/results.md with its pictures; what was computed is kept."""

import argparse
import json
import sys
from pathlib import Path

from cacheroute.simulation.experiments.backends import Backend
from cacheroute.simulation.experiments.progress import progress_bar
from cacheroute.simulation.experiments.sweep import Workers, sweep
from cacheroute.simulation.paper.report import Chapter, write_report
from cacheroute.simulation.paper.studies import studies
from cacheroute.simulation.paper.study import Study
from cacheroute.simulation.year.run import run_all
from cacheroute.simulation.year.studies import year_studies
from cacheroute.simulation.year.study import TraceStudy
from scripts.simulating import ROOT, exit_code

BUILD = ROOT / "build"


def main(arguments: list[str]) -> int:
    """Run what is asked for."""
    options = _parser().parse_args(arguments)
    workers = Workers(options.jobs, Backend(options.backend), options.cluster, BUILD / "simulations")
    docs = BUILD / "paper" if options.quick or options.only else ROOT / "docs"

    def write() -> Path:
        chapters = _chapters(workers, quick=options.quick, only=options.only)
        write_report(chapters, docs / "results.md", docs / "images")
        return docs / "results.md"

    return exit_code("paper", write)


def _chapters(workers: Workers, *, quick: bool, only: list[str]) -> list[Chapter]:
    """Run the studies that are wanted, first those of CacheRoute, then those of the year-long trace."""
    replayed = year_studies(quick=quick, only=only)
    known = {word for one in year_studies() for word in (one.name, one.name.split()[0])}
    others = [name for name in only if name not in known]
    simulated = studies(quick=quick, only=others) if others or not only else []
    return [_simulate(one, workers) for one in simulated] + [_replay(one, workers) for one in replayed]


def _simulate(study: Study, workers: Workers) -> Chapter:
    cells = study.cells()
    with progress_bar(f"{study.name}: {study.title}") as tell:
        ran = sweep(cells, workers, tell)
    section = study.section([one.outcome for one in ran])
    return _done(Chapter(study, section, len(cells), sum(one.seconds for one in ran)))


def _replay(study: TraceStudy, workers: Workers) -> Chapter:
    replays = study.replays()
    with progress_bar(f"{study.name}: {study.title}") as tell:
        ran = run_all(replays, workers.jobs, workers.store, tell)
    section = study.told([one.values for one in ran])
    return _done(Chapter(study, section, len(replays), sum(one.seconds for one in ran)))


def _done(chapter: Chapter) -> Chapter:
    """Keep the numbers of a chapter and tell that it is there."""
    study = chapter.study
    path = BUILD / "paper" / f"{study.name.replace(' ', '-')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(chapter.section.numbers, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(
        f"{study.name}: {chapter.simulations} simulations, {chapter.seconds:.0f} s of a processor\n"
    )
    sys.stdout.flush()
    return chapter


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs into build/paper: does it work?")
    parser.add_argument("--only", nargs="*", default=[], help="tables, such as T1 T4, into build/paper")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1: one on each core")
    parser.add_argument("--backend", choices=[one.value for one in Backend], default=Backend.LOKY.value)
    parser.add_argument("--cluster", help="address of a Dask or Ray cluster; default: one of this machine")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
