"""`make calibrate`: fit what the paper does not give to table 1, once, and write the numbers with how they were found.

First the sizes of the prompts' parts, to the token hits of Flat-LB and CacheRoute at the steps of the ladder next to
their capacities; then, with these sizes, how much slower a token is computed and how long answers are, to the two
capacities at 3.5 s.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cacheroute.simulation.experiments.cell import Cell, with_load, with_seed
from cacheroute.simulation.experiments.ladder import LADDER_70B, capacity, mean
from cacheroute.simulation.experiments.policies import with_policy
from cacheroute.simulation.experiments.progress import progress_bar
from cacheroute.simulation.experiments.sweep import Workers, sweep
from cacheroute.simulation.experiments.traffic import Traffic
from cacheroute.simulation.paper.calibration import NAME, fleet, plan
from cacheroute.simulation.workloads.tenants import Prompts

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "operator" / "cacheroute" / "simulation" / "paper" / "data" / NAME
WORKERS = Workers(store=ROOT / "build" / "simulations")
SEEDS, SECONDS, WARMUP = 5, 60.0, 20.0
HITS, CAPACITIES = {"flat": 0.641, "cacheroute": 0.932}, {"flat": 42.0, "cacheroute": 176.0}
SIZES = [
    Prompts(template, segment, 1200 - template - segment - turn, documents, turn, output=16)
    for template, segment, turn, documents in (
        (560, 288, 80, 8),
        (592, 272, 80, 8),
        (608, 288, 80, 8),
        (608, 272, 64, 8),
    )
]
SLOWDOWNS, OUTPUTS = (10.5, 11.0, 11.5), (32, 128, 192)
HIT_LOADS = {"flat": 60.0, "cacheroute": 180.0}


def main() -> int:
    """Fit, and write the file."""
    sizes = [(prompts, _hits(prompts)) for prompts in SIZES]
    prompts, hits = min(sizes, key=lambda one: sum(abs(one[1][name] - HITS[name]) for name in HITS))
    speeds = [
        (slowdown, output, _capacities(slowdown, replace(prompts, output=output)))
        for slowdown in SLOWDOWNS
        for output in OUTPUTS
    ]
    slowdown, output, capacities = min(
        speeds,
        key=lambda one: sum(abs(math.log(max(one[2][name], 1.0) / CAPACITIES[name])) for name in CAPACITIES),
    )
    PATH.write_text(
        json.dumps(
            {
                "slowdown": slowdown,
                "prompts": asdict(replace(prompts, output=output)),
                "how": (
                    f"scripts/calibrate.py: 128 keys, 30 engines 70b-fp8, {SEEDS} seeds, {SECONDS:g} s of which the first "
                    f"{WARMUP:g} s are not judged. Sizes: the smallest sum of differences to the paper's token hits of "
                    "Flat-LB and CacheRoute at 60 and 180 requests/s, the steps next to their capacities. Slowdown and output: the smallest sum of |log ratio| to "
                    "the paper's capacities of Flat-LB and CacheRoute at 3.5 s."
                ),
                "hits": {name: {"ours": round(hits[name], 4), "paper": HITS[name]} for name in HITS},
                "capacities": {
                    name: {"ours": capacities[name], "paper": CAPACITIES[name]} for name in CAPACITIES
                },
                "sizes_tried": [{**asdict(one), "hits": found} for one, found in sizes],
                "speeds_tried": [
                    {"slowdown": one, "output": tokens, "capacities": found} for one, tokens, found in speeds
                ],
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )
    sys.stdout.write(f"written {PATH.relative_to(ROOT)}\n")
    return 0


def _hits(prompts: Prompts) -> dict[str, float]:
    return {
        name: mean([one.token_hit for one in _figures(name, 12.0, prompts, (load,))]).value
        for name, load in HIT_LOADS.items()
    }


def _capacities(slowdown: float, prompts: Prompts) -> dict[str, float]:
    return {
        name: capacity(ladder, _runs(name, slowdown, prompts, ladder), 3.5).load.value
        for name, ladder in (("flat", LADDER_70B[:4]), ("cacheroute", LADDER_70B[4:]))
    }


def _runs(name: str, slowdown: float, prompts: Prompts, ladder: Sequence[float]) -> list[Any]:
    figures = _figures(name, slowdown, prompts, ladder)
    return [figures[start : start + len(ladder)] for start in range(0, len(figures), len(ladder))]


def _figures(name: str, slowdown: float, prompts: Prompts, loads: Sequence[float]) -> list[Any]:
    engines = with_policy(fleet("70b-fp8", slowdown), name, plan("70b-fp8", 2 * SECONDS))
    cell = Cell(Traffic(128, 100.0, SECONDS, prompts), engines, WARMUP)
    cells = [with_load(with_seed(cell, seed), load) for seed in range(SEEDS) for load in loads]
    with progress_bar(f"{name}, slowdown {slowdown}, {prompts.output} tokens") as tell:
        return [ran.outcome.figures for ran in sweep(cells, WORKERS, tell)]


if __name__ == "__main__":
    sys.exit(main())
