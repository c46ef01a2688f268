"""Lines of text files of any size, gzipped or not, in parts of bounded size."""

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from cacheroute.simulation.traces.readers.errors import TraceFileError

BLOCK_BYTES = 8 * 1024**2
MAX_LINE_BYTES = 16 * 1024**2
"""A longer line is none: the file has no lines, or is a gzip bomb."""
_BOM = b"\xef\xbb\xbf"


class Lines(NamedTuple):
    """Some lines that follow each other."""

    first: int
    """Row of the first one, from 1."""
    lines: list[bytes]
    """Without their ends."""


def check_file(path: str) -> None:
    """See that ``path`` can be read as a file.

    Raises:
        TraceFileError: it cannot.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  Path.stat is the same; the path is a text here
        if not stat.S_ISREG(mode):
            raise TraceFileError(f"{path}: is {'a directory' if stat.S_ISDIR(mode) else 'no regular file'}")
        Path(path).open("rb").close()
    except (OSError, ValueError) as error:
        if isinstance(error, TraceFileError):
            raise
        raise TraceFileError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def lines(path: str, told: Callable[[float], None]) -> Iterator[Lines]:
    """Yield the lines of a file; gzipped ones are told by their first bytes.

    Raises:
        TraceFileError: it cannot be read, it is cut, or a line is longer than MAX_LINE_BYTES.
    """
    check_file(path)
    size = max(Path(path).stat().st_size, 1)
    row, rest = 1, b""
    with Path(path).open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream: IO[bytes] = gzip.GzipFile(fileobj=raw) if zipped else raw  # type: ignore[assignment]  # reads alike
        while block := _read(stream, path, row):
            whole = (rest + block).split(b"\n")
            rest = whole.pop()
            _bound(path, row, [*whole, rest])
            if whole:
                yield Lines(row, _plain(whole) if row == 1 else whole)
            row += len(whole)
            told(raw.tell() / size)
    if rest:
        yield Lines(row, _plain([rest]) if row == 1 else [rest])


def _plain(first: list[bytes]) -> list[bytes]:
    return [first[0].removeprefix(_BOM), *first[1:]]


def _read(stream: IO[bytes], path: str, row: int) -> bytes:
    try:
        return stream.read(BLOCK_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceFileError(
            f"{path}:{row}: the gzip file is cut or broken at or after this row: {error}"
        ) from error
    except OSError as error:
        raise TraceFileError(f"{path}:{row}: cannot be read: {error.strerror or error}") from error


def _bound(path: str, row: int, whole: list[bytes]) -> None:
    long = next((at for at, line in enumerate(whole) if len(line) > MAX_LINE_BYTES), None)
    if long is not None:
        raise TraceFileError(f"{path}:{row + long}: the line is longer than {MAX_LINE_BYTES >> 20} MiB")
