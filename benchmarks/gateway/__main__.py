"""`python -m benchmarks.gateway [--quick] [--only ROW]`."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.gateway import cost, counters, flood, loss, proxies, push
from benchmarks.gateway.processes import MeasureError
from benchmarks.gateway.results import Row, show, write
from benchmarks.runner import OUTPUT
from e2e.harness.errors import HarnessError

ROWS: dict[str, Callable[..., Row]] = {
    "cost": cost.run,
    "push": push.run,
    "proxies": proxies.run,
    "loss": loss.run,
    "flood": flood.run,
    "counters": counters.run,
}


def main(arguments: list[str]) -> int:
    """Measure the rows that are asked for; write and show each as soon as it is there."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    start = time.monotonic()

    def say(line: str) -> None:
        sys.stderr.write(f"bench-gateway: {time.monotonic() - start:4.0f} s: {line}\n")

    try:
        for name in options.only or ROWS:
            row = ROWS[name](say, quick=options.quick)
            write(row, options.output)
            show(row)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (MeasureError, HarnessError) as error:
        sys.stderr.write(f"bench-gateway: {error}\n")
        return 1
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest variant: does it run at all")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the results")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(ROWS),
        metavar="ROW",
        help=f"one of {', '.join(ROWS)}; repeatable",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
