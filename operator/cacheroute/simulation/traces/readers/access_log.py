"""Access logs of OpenAI-style APIs, and of Envoy: one JSON object for each request, written by many programs.

Which member is what is guessed from usual names; whoever knows better says so (``ReadOptions.fields``).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.columns import Rows
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.json_lines import Records, records
from cacheroute.simulation.traces.readers.options import FIELDS, ReadOptions
from cacheroute.simulation.traces.requests import Requests
from cacheroute.simulation.traces.trace import UNKNOWN

_USAGE = ("usage", "response.usage", "response.body.usage")
USUAL: dict[str, tuple[str, ...]] = {
    "time": ("timestamp", "time", "ts", "@timestamp", "start_time", "created_at", "created", "request.timestamp"),
    "key": ("user", "user_id", "key", "tenant", "tenant_id", "routing_key", "organization", "request.user"),
    "model": ("model", "model_name", "request.model", "response.model", "plan"),
    "endpoint": ("endpoint", "path", "route", "url", "request.path"),
    "session": ("session_id", "conversation_id", "thread_id", "session"),
    "prompt": (*(f"{one}.prompt_tokens" for one in _USAGE), "prompt_tokens",
               *(f"{one}.input_tokens" for one in _USAGE), "input_tokens"),
    "output": (*(f"{one}.completion_tokens" for one in _USAGE), "completion_tokens",
               *(f"{one}.output_tokens" for one in _USAGE), "output_tokens"),
    "cached": (*(f"{one}.prompt_tokens_details.cached_tokens" for one in _USAGE), "prompt_tokens_details.cached_tokens",
               *(f"{one}.input_tokens_details.cached_tokens" for one in _USAGE), "cached_tokens"),
    "duration": ("duration", "duration_s", "duration_ms", "latency", "latency_ms", "total_time", "response_time"),
    "ttft": ("ttft", "ttft_s", "ttft_ms", "time_to_first_token", "time_to_first_token_ms"),
}  # fmt: skip
"""Where logs have what, the likelier first."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_TIMED = ("time", "duration", "ttft")
"""Members with a unit."""
_ENVOY_MILLISECONDS = ("duration", "ttft")
"""Envoy's %DURATION% and %COMMON_DURATION% are milliseconds, whatever they are called."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a record: where it is, and seconds of 1, None where that is told by the size."""

    path: str
    unit: float | None


def read_access_log(
    path: str, options: ReadOptions, words: Vocabulary, *, envoy: bool = False
) -> Iterator[Requests]:
    """Yield the requests of a log.

    Raises:
        TraceFileError: the file cannot be used.
    """
    parts = records(path, options.told)
    start = list(islice(parts, 1))
    members = _members(path, start, options.fields, envoy=envoy)
    for part in (_kept(one, members["prompt"].path, words) for one in chain(start, parts)):
        yield requests(part.rows, _columns(part, members), words)


def _members(path: str, start: list[Records], given: dict[str, str], *, envoy: bool) -> dict[str, Member]:
    """Find the members in the first records."""
    members = {name: _told(path, name, text) for name, text in given.items()}
    for name in FIELDS:
        seen = (one for one in USUAL[name] if start and _present(start[0].column(one)))
        if name not in members and (found := next(seen, None)):
            members[name] = Member(found, _unit(name, found, envoy=envoy))
    for name in ("time", "prompt"):
        if start and name not in members:
            usual = ", ".join(USUAL[name][:3])
            raise TraceFileError(f"{path}: no row has {usual} or the like; name it by --field {name}=NAME")
    return members


def _present(values: Iterable[object]) -> bool:
    return any(value is not None for value in values)


def _told(path: str, name: str, text: str) -> Member:
    where, _, unit = text.partition(":")
    if name not in FIELDS or not where or (unit and unit not in UNITS):
        raise TraceFileError(
            f"{path}: --field {name}={text}: use NAME=FIELD or NAME=FIELD:UNIT with a NAME of {', '.join(FIELDS)} "
            f"and a UNIT of {', '.join(UNITS)}"
        )
    if unit and name not in _TIMED:
        raise TraceFileError(f"{path}: --field {name}={text}: only {', '.join(_TIMED)} have a unit")
    return Member(where, UNITS[unit] if unit else _unit(name, where, envoy=False))


def _unit(name: str, path: str, *, envoy: bool) -> float | None:
    if name == "time":
        return None
    return UNITS["ms"] if path.endswith("_ms") or (envoy and path in _ENVOY_MILLISECONDS) else 1.0


def _kept(part: Records, path: str, words: Vocabulary) -> Records:
    """Leave out what has no prompt tokens: other calls, refused requests, lines of other programs."""
    has = np.array([value is not None for value in part.column(path)], dtype=np.bool_)
    words.left_out += int(has.size - has.sum())
    kept = [record for record, one in zip(part.records, has, strict=True) if one]
    return Records(Rows(part.rows.name, part.rows.row[has]), kept)


def _columns(part: Records, members: dict[str, Member]) -> Columns:
    found = {name: (one.path, part.column(one.path)) for name, one in members.items()}
    time = members["time"]
    duration, ttft = (members[name].unit or 1.0 if name in members else 1.0 for name in ("duration", "ttft"))
    return Columns(
        time=part.rows.times(*found.pop("time"), time.unit),
        prompt=found.pop("prompt"),
        session=_sessions(part.rows, found.pop("session", None)),
        units=(duration, ttft),
        optional=True,
        **found,  # type: ignore[arg-type]  # what is left are the pairs that Columns has by these names
    )


def _sessions(rows: Rows, column: tuple[str, list[object]] | None) -> NDArray[np.int64] | None:
    """Return numbers of conversations: 63 bits of a hash of their names, since there are too many to keep."""
    if column is None:
        return None
    texts = pl.Series(rows.texts(*column), dtype=pl.String)
    hashed = (texts.hash(seed=0) // 2).cast(pl.Int64)
    return hashed.zip_with(texts.is_not_null(), pl.Series([UNKNOWN])).to_numpy()
