"""A published trace as the requests of a contest: a part of it that can be simulated, and what had to be assumed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.traces.blocks import Sharing, prepare
from cacheroute.simulation.traces.read import read_trace
from cacheroute.simulation.traces.readers.open import open_trace
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.trace import UNKNOWN, Trace

CONTEXT = 131_072
"""Tokens of prompt and answer that the model takes (Llama 3.1 has this context); longer requests are left out."""
MOST_REQUESTS = 20_000
MOST_TOKENS = 60_000_000
"""Prompt tokens; a trace is cut after its first part of at most so many."""
TENANT_TOKENS = 600
"""Tokens that prompts of one tenant begin with, where a trace has tenants but does not say what prompts consist of."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The requests of one trace.

    Attributes:
        name: of the file, without its endings.
        work: the requests; keys are dense, those of requests without a key come last.
        named: how many keys there are; what follows are single requests without one.
        about: how many of how many, what the keys are, and what was assumed.
    """

    name: str
    work: Work
    named: int
    about: str

    @property
    def rate(self) -> float:
        """Requests/s of the trace as it was recorded."""
        return self.work.arrival.size / float(self.work.arrival[-1])


def sources(folder: Path) -> Iterator[Source]:
    """Yield the traces of a folder, by the names of the files; files that are no traces are passed over.

    Raises:
        SimulationError: there is no such folder, no trace in it, or one that cannot be used; the message names it.
    """
    if not folder.is_dir():
        raise SimulationError(f"{folder}: there is no such folder of traces")
    paths = [path for path in sorted(folder.iterdir()) if path.name.endswith(_ENDINGS)]
    if not paths:
        raise SimulationError(
            f"{folder}: has no trace; docs/traces.md lists the formats ({', '.join(_ENDINGS)})"
        )
    yield from map(source, paths)


_ENDINGS = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")


def source(path: Path) -> Source:
    """Read one trace.

    Raises:
        SimulationError: it cannot be used; the message names file, row and column.
    """
    made_up = open_trace(str(path), ReadOptions()).made_up
    whole = read_trace(str(path))
    keyed, kind = _keyed(whole)
    part = keyed.take(_first(keyed))
    shared = Sharing(prefix=TENANT_TOKENS if whole.keys and whole.blocks is None else 0)
    found = prepare(part, shared, CONTEXT)
    work = found.work
    if work.arrival[-1] <= 0:
        raise SimulationError(f"{path}: has requests at one moment only; loads need time between them")
    words = [
        f"{work.arrival.size:,} of {whole.size:,} requests, the first {work.arrival[-1] / 60:.0f} minutes",
        f"{work.prompt.mean():,.0f} prompt and {work.output.mean():,.0f} output tokens in the mean",
        kind,
    ]
    if found.left_out:
        words.append(f"{found.left_out:,} longer than {CONTEXT:,} tokens left out")
    words += [made_up] if made_up else []
    if shared.prefix:
        words.append(f"composed: prompts of a tenant begin with the same {TENANT_TOKENS} tokens")
    elif whole.blocks is None:
        words.append("prompts have nothing in common that the trace would tell")
    used, key = np.unique(work.key, return_inverse=True)
    named = int(np.searchsorted(used, len(found.keys)))
    return Source(
        path.name.partition(".")[0], work._replace(key=key.astype(np.int64)), named, "; ".join(words)
    )


def _keyed(trace: Trace) -> tuple[Trace, str]:
    """Return the trace with conversations as its keys where it has no others."""
    if trace.keys:
        return trace, f"keys are its {len(trace.keys):,} tenants"
    if (trace.session == UNKNOWN).all():
        return trace, "no keys: every request is one of its own"
    numbers, key = np.unique(trace.session, return_inverse=True)
    names = tuple(str(one) for one in numbers.tolist())
    return replace(trace, keys=names, key=key.astype(np.int32)), "keys are its conversations"


def _first(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Choose the first requests within the bounds; those beyond the context do not count, they are left out later."""
    fits = trace.prompt + np.maximum(trace.output, 1) <= CONTEXT
    tokens = np.cumsum(np.where(fits, trace.prompt, 0))
    return (np.cumsum(fits) <= MOST_REQUESTS) & (tokens <= MOST_TOKENS)
