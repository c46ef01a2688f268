"""How the scripts that simulate end: a page, one line for a fault, or a word that Ctrl-C lost nothing."""

import sys
from collections.abc import Callable
from pathlib import Path

from cacheroute.simulation.errors import SimulationError

ROOT = Path(__file__).resolve().parent.parent
USAGE, INTERRUPTED = 2, 130


def exit_code(name: str, write: Callable[[], Path]) -> int:
    """Run ``write``, say which page of the project it wrote or why it did not, and return the exit code."""
    try:
        page = write()
    except SimulationError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return USAGE
    except KeyboardInterrupt:
        sys.stderr.write(f"{name}: interrupted; what is done is kept, run it again to go on\n")
        return INTERRUPTED
    sys.stdout.write(f"written {page.relative_to(ROOT)}\n")
    return 0
