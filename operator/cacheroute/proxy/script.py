"""The Lua script that Envoy runs: the files in ``lua/`` behind constants that come from Python."""

import re
from functools import cache
from importlib.resources import files

from cacheroute.domain.keys import KEY_PUNCTUATION, KEYED_PATHS
from cacheroute.domain.telemetry import KEY_REJECTED
from cacheroute.proxy import jwt, names
from cacheroute.proxy.telemetry import DECISION_HEADER, DESTINATION_HEADER

MAX_JSON_STEPS = 1_000_000
"""Strings and brackets that the scanner looks at before it gives up: bounds the time of a hostile body to 0.2 s."""
MAX_TOKENS = 10_000_000
"""Of one request; an engine's larger number is no number of tokens and is not counted."""


@cache
def lua_script(max_body_bytes: int) -> str:
    """Return the script of Envoy's Lua filter; a body that is surely not larger may go on unread."""
    parts = [
        files(__package__).joinpath("lua", name).read_text("utf-8")
        for name in ("json.lua", "gateway.lua", "usage.lua")
    ]
    return "\n".join([constants(max_body_bytes), *parts])


def constants(max_body_bytes: int) -> str:
    """Return the Lua constants that the files in ``lua/`` use."""
    values: dict[str, str | int | tuple[str, ...]] = {
        "KEY_HEADER": names.KEY_HEADER,
        "NAMESPACE": names.NAMESPACE,
        "NO_MODEL": names.NO_MODEL,
        "ANY_MODEL": names.ANYTHING,
        "MAX_MODEL_BYTES": names.MAX_MODEL_BYTES,
        "COLD": names.COLD,
        "REJECTED": KEY_REJECTED,
        "ODD": _odd_pattern(),
        "MAX_STEPS": MAX_JSON_STEPS,
        "JWT": jwt.FILTER,
        "KEYED_PATHS": KEYED_PATHS,
        "MAX_TOKENS": MAX_TOKENS,
        "DECISION_HEADER": DECISION_HEADER,
        "DESTINATION_HEADER": DESTINATION_HEADER,
        "MAX_BODY_BYTES": max_body_bytes,
    }
    return "".join(f"local {name} = {_literal(value)}\n" for name, value in values.items())


def _odd_pattern() -> str:
    """Return the Lua pattern of a byte outside the keys' alphabet."""
    punctuation = re.sub(r"([^A-Za-z0-9])", r"%\1", KEY_PUNCTUATION)
    return f"[^a-z0-9{punctuation}]"


def _literal(value: str | int | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return "{ " + ", ".join(f"['{one}'] = true" for one in value) + " }"
    return str(value) if isinstance(value, int) else f"'{value}'"
