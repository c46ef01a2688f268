"""What users see when something is wrong: one line and an exit code, never a traceback."""

import sys
from typing import NoReturn

USAGE = 2
FAILURE = 1


def fail(message: str, code: int = FAILURE) -> NoReturn:
    """Print one line to standard error and exit with ``code``."""
    line = " ".join(message.split())
    sys.stderr.write(f"cacheroute: {line}\n")
    raise SystemExit(code)
