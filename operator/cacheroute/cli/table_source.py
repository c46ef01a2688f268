"""Where a table comes from: a file, or what comes through a pipe."""

import io
import os
import stat
import sys
from pathlib import Path
from typing import IO

from cacheroute.controllers.file_world import InputFileError

MAX_FILE_BYTES = 2 * 1024**3
STDIN = "-"


def source(path: str, name: str) -> Path | io.BytesIO:
    """Return a file as it is, and what comes through a pipe in memory; ``-`` is standard input.

    Raises:
        InputFileError: it cannot be read, or is too large to be meant; ``name`` is what messages call it.
    """
    try:
        if path == STDIN:
            return _piped(sys.stdin.buffer, name)
        status = os.stat(path)  # noqa: PTH116 - Path.stat is the same; the path is a text here
        if stat.S_ISDIR(status.st_mode):
            raise InputFileError(f"{name}: is a directory")
        _check_size(status.st_size, name)
        if stat.S_ISREG(status.st_mode):
            Path(path).open("rb").close()
            return Path(path)
        with Path(path).open("rb") as pipe:
            return _piped(pipe, name)
    except (OSError, ValueError) as error:
        if isinstance(error, InputFileError):
            raise
        raise InputFileError(
            f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def _piped(stream: IO[bytes], name: str) -> io.BytesIO:
    content = stream.read(MAX_FILE_BYTES + 1)
    _check_size(len(content), name)
    return io.BytesIO(content)


def _check_size(size: int, name: str) -> None:
    if size > MAX_FILE_BYTES:
        raise InputFileError(
            f"{name}: is over {MAX_FILE_BYTES >> 30} GiB; add it up to columns key and rate first"
        )
