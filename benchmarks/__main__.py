"""`python -m benchmarks [NAME...]`."""

import sys

from rich.console import Console

from benchmarks import drift, planner, replay, traces
from benchmarks.runner import show, write

REGISTRY = {**planner.BENCHMARKS, **drift.BENCHMARKS, **replay.BENCHMARKS, **traces.BENCHMARKS}
BY_NAME = {**REGISTRY, **traces.BY_NAME}
"""Those too that run only where they are named."""


def main(wanted: list[str]) -> int:
    """Run the benchmarks that are named, or all; write each result as soon as it is there."""
    unknown = [name for name in wanted if name not in BY_NAME]
    if unknown:
        sys.stderr.write(f"benchmarks: no benchmark {unknown[0]!r}; there are {', '.join(BY_NAME)}\n")
        return 2
    console = Console(stderr=True)
    results = []
    for name in wanted or REGISTRY:
        with console.status(f"measuring {name}"):
            results.append(BY_NAME[name]())
        write(results[-1])
    show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
