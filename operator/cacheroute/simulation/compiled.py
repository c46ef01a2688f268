"""Functions that numba compiles; the one place with its options."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile ``function`` for the types it is called with; the result is kept on disk and shared by processes."""
    return cast("_Function", numba.njit(cache=True, nogil=True)(function))
