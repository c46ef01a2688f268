"""What libraries write to standard error themselves, such as the trace of a panic in polars."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STDERR = 2


@contextmanager
def silenced() -> Iterator[None]:
    """Let nothing through to standard error, not even what libraries write there past Python."""
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), _STDERR)
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
