"""Functions that numba compiles; the one place with its options.

What is compiled is kept on disk. numba looks only at the file of a function to see whether that is stale, not at the files
of those it calls, so the folder is named by the contents of all files of this package.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DIGITS = 16


def compiled(function: _Function) -> _Function:
    """Compile ``function`` for the types it is called with; the result is kept on disk and shared by processes."""
    return cast("_Function", numba.njit(cache=True, nogil=True)(function))


def code_version(package: Path) -> str:
    """Return a hash over the names and contents of all Python files below ``package``, hexadecimal."""
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(f"{file.relative_to(package)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def cache_folder(environment: Mapping[str, str], version: str) -> Path:
    """Return where compiled code of this version is kept: below the user's caches, or in a new temporary folder."""
    home = Path(environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "/")) / ".cache")
    folder = home / "cacheroute" / "compiled" / version
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="cacheroute-compiled-"))
    return folder


numba.config.CACHE_DIR = str(cache_folder(os.environ, code_version(Path(__file__).parent)))
