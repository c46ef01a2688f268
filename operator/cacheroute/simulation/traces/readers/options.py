"""What a reader may be told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum


class TraceFormat(StrEnum):
    """Layouts of traces that can be read."""

    ACCESS_LOG = "access-log"
    ENVOY = "envoy"
    AZURE = "azure"
    MOONCAKE = "mooncake"
    RUNS = "runs"
    TENANTS = "tenants"
    YEAR = "year"
    CACHEROUTE = "cacheroute"


FIELDS = (
    "time", "key", "model", "endpoint", "session",
    "prompt", "output", "cached", "duration", "ttft",
)  # fmt: skip
"""What a line of an access log may tell."""


def _deaf(_: float) -> None:
    """Take no notice."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file.

    Attributes:
        format: of the file; None recognises it by its name and columns.
        fields: of FIELDS, where access logs have it: names joined by dots, after a colon the unit (s, ms, us, ns).
        session_gap: mean seconds between the made-up starts of sessions, where a trace has no clock across sessions.
        told: is called now and then with the share of the file that was read, 0..1.
    """

    format: TraceFormat | None = None
    fields: dict[str, str] = field(default_factory=dict)
    session_gap: float = 10.0
    told: Callable[[float], None] = _deaf
