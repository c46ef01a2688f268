"""`python -m benchmarks [NAME...]`."""

import sys

from benchmarks import planner
from benchmarks.runner import measure, show, write


def main(wanted: list[str]) -> int:
    """Run the benchmarks that are named, or all."""
    known = {one.name: one for one in planner.benchmarks()}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.stderr.write(f"benchmarks: no benchmark {unknown[0]!r}; there are {', '.join(known)}\n")
        return 2
    results = [measure(known[name]) for name in wanted or known]
    show(results)
    for result in results:
        write(result)
    return 0


sys.exit(main(sys.argv[1:]))
