"""Content hashes: of settings, and of the code that they are run by."""

import dataclasses
import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import cacheroute.planning
import cacheroute.simulation


def digest(value: object) -> str:
    """Return a hash of everything that a value consists of: dataclasses, named tuples, arrays and plain values."""
    return sha256(json.dumps(_plain(value), sort_keys=True).encode()).hexdigest()


@cache
def code_version() -> str:
    """Return a hash of the sources that decide what a simulation gives: other code, other results."""
    made = sha256()
    for package in (cacheroute.planning, cacheroute.simulation):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            name = str(path.relative_to(root))
            if name not in _TELLS if package is cacheroute.planning else name.startswith(_DECIDES):
                made.update(path.read_bytes())
    return made.hexdigest()


_TELLS = ("hindsight.py",)
"""Modules of planning that say something of a plan and change none."""
_DECIDES = (
    "engine_model",
    "fleet",
    "routing",
    "workloads",
    "experiments/cell",
    "experiments/traffic",
    "replay",
    "year",
)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [
            str(value.dtype),
            list(value.shape),
            sha256(np.ascontiguousarray(value).tobytes()).hexdigest(),
        ]
    if dataclasses.is_dataclass(value):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [type(value).__name__, *map(_plain, value)]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)
