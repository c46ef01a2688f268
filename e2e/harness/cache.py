"""The cache outside the checkout: what is there is complete, and two runs never make the same thing twice.

Everything that takes long (programs built from source, image layers, imported image stores) is kept below
`${XDG_CACHE_HOME:-~/.cache}/cacheroute`, in folders named by a hash of what they are made from. A killed
build leaves only a temporary folder: the final name appears by one rename.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.progress import say


def root() -> Path:
    """Return the cache folder, made if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "cacheroute"
    path.mkdir(parents=True, exist_ok=True)
    return path


def digest(*parts: bytes | str) -> str:
    """Return 16 hex digits that change when any part changes."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()[:16]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the file lock `path`; the kernel frees it when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that holds {path}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def entry(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cached folder `name`; where it is missing, `make` fills a temporary one that is then renamed."""
    path = root() / name
    if path.exists():
        return path
    with locked(path.parent / f".{path.name}.lock"):
        if not path.exists():
            partial = path.parent / f".{path.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            make(partial)
            partial.rename(path)
    return path
