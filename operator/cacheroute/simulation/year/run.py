"""Replays of made-up traces over processes; what is done is kept, so that an interrupted series goes on."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import joblib

from cacheroute.simulation.experiments.digest import code_version, digest
from cacheroute.simulation.replay.eviction import Algorithm, find
from cacheroute.simulation.replay.replay import ReplaySettings, replay
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.year.workload import Workload, make

Tell = Callable[[int, int], None]
"""Called with the number of replays that are done and of all."""
Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class OneCache:
    """One cache that evicts by an algorithm; sessions are as large as their prompts, as in figure 16."""

    workload: Workload
    requests: int
    seed: int
    algorithm: Algorithm
    capacity: int

    def run(self) -> Values:
        """Return what it finds, see ``Found``."""
        trace = make(self.workload, self.requests, self.seed)
        return find(trace, self.algorithm, self.capacity, answers=False)._asdict()


@dataclass(frozen=True, slots=True)
class ManyCaches:
    """A fleet of session caches that a policy routes over, as in figure 20."""

    workload: Workload
    requests: int
    seed: int
    policy: Policy
    destinations: int
    cache_tokens: int

    def run(self) -> Values:
        """Return the figures of the replay, see ``Figures``."""
        trace = make(self.workload, self.requests, self.seed)
        settings = ReplaySettings(self.policy, self.destinations, self.cache_tokens, self.seed)
        return asdict(replay(trace, settings))


Replay = OneCache | ManyCaches


class Ran(NamedTuple):
    """What a replay gave, now or earlier."""

    values: Values
    seconds: float
    """Of a processor."""


def run_all(
    replays: Sequence[Replay],
    jobs: int = 1,
    kept: Path | None = None,
    tell: Tell = lambda _done, _all: None,
) -> list[Ran]:
    """Return what each replay gives, in their order; the same whatever ``jobs``.

    Args:
        replays: what is run; neighbours with the same trace make it only once.
        jobs: processes; -1 for one on each core.
        kept: folder of results that need not be computed again, None to keep none.
        tell: hears of the progress.
    """
    known = {at: found for at, one in enumerate(replays) if (found := _get(kept, one)) is not None}
    missing = [at for at in range(len(replays)) if at not in known]
    tell(len(known), len(replays))
    parallel = joblib.Parallel(n_jobs=jobs if len(missing) > 1 else 1, return_as="generator", batch_size=8)
    done = parallel(joblib.delayed(_timed)(replays[at]) for at in missing)
    for at, ran in zip(missing, done, strict=True):
        known[at] = ran
        _put(kept, replays[at], ran)
        tell(len(known), len(replays))
    return [known[at] for at in range(len(replays))]


def _timed(one: Replay) -> Ran:
    begin = time.process_time()
    values = one.run()
    return Ran(values, time.process_time() - begin)


def _path(kept: Path, one: Replay) -> Path:
    name = digest((code_version(), one))
    return kept / name[:2] / f"{name}.json"


def _get(kept: Path | None, one: Replay) -> Ran | None:
    if kept is None:
        return None
    try:
        return Ran(**json.loads(_path(kept, one).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _put(kept: Path | None, one: Replay, ran: Ran) -> None:
    """Keep a result: it is there completely or not at all."""
    if kept is None:
        return
    path = _path(kept, one)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(ran._asdict(), file)
    Path(temporary).replace(path)
