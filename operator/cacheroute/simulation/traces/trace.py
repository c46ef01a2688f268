"""A trace: requests as columns of equal length, in order of arrival."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError

UNKNOWN = -1
"""No key, session, model or cached-token count is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The prompt of every request as a chain of blocks; equal ids mean equal contents and an equal past.

    Attributes:
        size: tokens in a block.
        offsets: int64[N+1], request i has the blocks ids[offsets[i]:offsets[i+1]], first block first.
        ids: int64[M], >= 0.
    """

    size: int
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]

    def of(self, request: int) -> NDArray[np.int64]:
        """Return the blocks of one request, int64[blocks]."""
        return self.ids[self.offsets[request] : self.offsets[request + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """N requests; columns are never changed after construction.

    Attributes:
        arrival: float64[N], seconds since the first request, ascending.
        prompt: int64[N], prompt tokens, >= 1.
        output: int64[N], output tokens, >= 0.
        keys: routing keys (tenants, users), unique.
        key: int32[N], index into ``keys``, or UNKNOWN.
        models: names of models, unique.
        model: int32[N], index into ``models``, or UNKNOWN.
        session: int64[N], equal within a conversation, or UNKNOWN.
        duration: float64[N], seconds from arrival to the end of the answer, or NaN.
        ttft: float64[N], seconds from arrival to the first token, or NaN.
        cached: int64[N], prompt tokens that the serving engine found in its cache, or UNKNOWN.
        start: time of the first request, seconds since the epoch; 0 where the trace has no calendar.
        blocks: what the prompts consist of, None where that is not known.
        reconstructed: sessions were put together from the lengths of prompts and answers, the file names none.

    Raises:
        SimulationError: columns differ in length, or a value is out of range.
    """

    arrival: NDArray[np.float64]
    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    keys: tuple[str, ...]
    key: NDArray[np.int32]
    models: tuple[str, ...]
    model: NDArray[np.int32]
    session: NDArray[np.int64]
    duration: NDArray[np.float64]
    ttft: NDArray[np.float64]
    cached: NDArray[np.int64]
    start: float = 0.0
    blocks: Blocks | None = None
    reconstructed: bool = False

    def __post_init__(self) -> None:
        for name in ("prompt", "output", "key", "model", "session", "duration", "ttft", "cached"):
            if getattr(self, name).shape != (self.size,):
                raise SimulationError(
                    f"trace: {name} has {getattr(self, name).size} values for {self.size} requests"
                )
        if self.blocks is not None and self.blocks.offsets.size != self.size + 1:
            raise SimulationError(
                f"trace: {self.blocks.offsets.size - 1} block lists for {self.size} requests"
            )
        _require(np.isfinite(self.arrival), "arrival", "finite")
        _require(np.diff(self.arrival, prepend=0.0) >= 0, "arrival", "ascending from 0")
        _require(self.prompt >= 1, "prompt", ">= 1")
        _require(self.output >= 0, "output", ">= 0")
        _require((self.key >= UNKNOWN) & (self.key < len(self.keys)), "key", "an index into keys")
        _require((self.model >= UNKNOWN) & (self.model < len(self.models)), "model", "an index into models")

    @property
    def size(self) -> int:
        """Number of requests, N."""
        return int(self.arrival.size)

    @property
    def seconds(self) -> float:
        """Time from the first to the last arrival."""
        return float(self.arrival[-1]) if self.size else 0.0

    def take(self, chosen: NDArray[np.bool_]) -> "Trace":
        """Return the chosen requests; ``arrival`` stays on the same clock."""
        columns = ("arrival", "prompt", "output", "key", "model", "session", "duration", "ttft", "cached")
        picked = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, **picked, blocks=_take_blocks(self.blocks, chosen))


def _take_blocks(blocks: Blocks | None, chosen: NDArray[np.bool_]) -> Blocks | None:
    if blocks is None:
        return None
    lengths = np.diff(blocks.offsets)
    offsets = np.concatenate(([0], np.cumsum(lengths[chosen])))
    return Blocks(blocks.size, offsets.astype(np.int64), blocks.ids[np.repeat(chosen, lengths)])


def _require(valid: NDArray[np.bool_], name: str, rule: str) -> None:
    if not valid.all():
        first = int(np.argmin(valid))
        raise SimulationError(f"trace: {name}[{first}] must be {rule}")
