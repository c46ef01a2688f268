"""What became of the requests, and the figures of a phase."""

import enum
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


class Fate(enum.StrEnum):
    """What became of a request."""

    ANSWERED = "answered"
    CUT = "cut"
    """A stream that the killed engine had begun; nobody can finish it."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Record:
    """One request.

    Attributes:
        phase: in which phase it was sent.
        sent: when it was due, seconds from the start of the phase.
        tenant: whose it was.
        fate: what became of it.
        destination: who answered; empty where nobody did.
        decision: planned, standby or cold; empty where nobody answered.
        first_token: seconds until the first token; NaN where none came.
        prompt_tokens: as the engine counted them.
        cached_tokens: of those, from its prefix cache.
        lag: how late it was sent, seconds.
        complaint: why it failed or was cut.
    """

    phase: str
    sent: float
    tenant: int
    fate: Fate
    destination: str = ""
    decision: str = ""
    first_token: float = math.nan
    prompt_tokens: int = 0
    cached_tokens: int = 0
    lag: float = 0.0
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a phase.

    Attributes:
        requests: number that was answered.
        hit_percent: token-weighted, over all answered.
        max_over_mean: requests of the busiest destination over the mean.
        ttft_p50_ms: median time to the first token; NaN without requests.
        ttft_p99_ms: 99th percentile; NaN without requests.
        lag_p99_ms: how late the generator was: a large one means that the machine could not keep up.
        decisions: requests by decision.
    """

    requests: int
    hit_percent: float
    max_over_mean: float
    ttft_p50_ms: float
    ttft_p99_ms: float
    lag_p99_ms: float
    decisions: dict[str, int]


def figures(records: Iterable[Record], destinations: int) -> Figures:
    """Compute the figures over the answered requests of ``records``."""
    answered = [one for one in records if one.fate is Fate.ANSWERED]
    load = Counter(one.destination for one in answered)
    first = sorted(one.first_token for one in answered)
    return Figures(
        requests=len(answered),
        hit_percent=hit_percent(answered),
        max_over_mean=max(load.values()) * destinations / len(answered) if answered else 0.0,
        ttft_p50_ms=1000 * percentile(first, 50),
        ttft_p99_ms=1000 * percentile(first, 99),
        lag_p99_ms=1000 * percentile(sorted(one.lag for one in answered), 99),
        decisions=dict(Counter(one.decision for one in answered)),
    )


def hit_percent(records: Iterable[Record]) -> float:
    """Return the share of prompt tokens that came from a cache, 0 to 100; 0 without tokens."""
    prompt = cached = 0
    for one in records:
        prompt += one.prompt_tokens
        cached += one.cached_tokens
    return 100 * cached / prompt if prompt else 0.0


def percentile(ascending: Sequence[float], percent: float) -> float:
    """Return the nearest-rank percentile of sorted values; NaN where there are none."""
    if not ascending:
        return math.nan
    return ascending[min(len(ascending), max(1, math.ceil(percent / 100 * len(ascending)))) - 1]


@dataclass(slots=True)
class Tally:
    """Every record so far."""

    records: list[Record] = field(default_factory=list)
    fates: Counter[Fate] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """Take one record."""
        self.records.append(record)
        self.fates[record.fate] += 1

    def phase(self, name: str, after: float = 0.0) -> list[Record]:
        """Return the records of a phase that were sent ``after`` so many seconds."""
        return [one for one in self.records if one.phase == name and one.sent >= after]
