"""A trace as work for simulated engines: blocks of its own, or made from its sessions."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace

BLOCK = 16
"""Tokens in a block of an engine."""
_TEMPLATE, _KEY, _SESSION, _REQUEST, _GIVEN = (np.int64(kind) << 56 for kind in range(1, 6))
_POSITION_BITS = 16
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sharing:
    """What prompts have in common where the trace does not say it.

    Attributes:
        template: tokens at the start of every prompt that all requests share (a system prompt).
        prefix: tokens after them that the requests of one key share.
    """

    template: int = 0
    prefix: int = 0

    def __post_init__(self) -> None:
        if self.template < 0 or self.prefix < 0:
            raise SimulationError(f"shared tokens must be >= 0: {self.template} and {self.prefix}")


class Prepared(NamedTuple):
    """Work, and what it is not."""

    work: Work
    keys: tuple[str, ...]
    """Names of the first keys; requests without a key have further ones of their own."""
    left_out: int
    """Requests that are longer than an engine's KV cache."""


def prepare(trace: Trace, sharing: Sharing, kv_tokens: int) -> Prepared:
    """Return the requests of a trace as engines take them.

    Where the trace knows its blocks, they are taken. Otherwise a prompt begins with the template and with what its key
    shares; after that the turns of one session extend each other, and other requests have nothing in common.

    Raises:
        SimulationError: no request is left.
    """
    output = np.maximum(trace.output, 1)
    fits = trace.prompt + output <= kv_tokens
    kept = trace.take(fits)
    if not kept.size:
        raise SimulationError(f"no request of the trace fits into a KV cache of {kv_tokens} tokens")
    output = output[fits]
    lengths = -(-(kept.prompt + output) // BLOCK)
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    request = np.repeat(np.arange(kept.size), lengths)
    position = np.arange(first[-1]) - first[request]
    contents = (
        _made(kept, sharing, request, position)
        if kept.blocks is None
        else _given(kept.blocks, kept.prompt, request, position)
    )
    work = Work(
        arrival=kept.arrival - kept.arrival[0],
        key=_keys(kept),
        session=kept.session.astype(np.int64),
        prompt=kept.prompt.astype(np.int64),
        output=output.astype(np.int64),
        first_block=first,
        contents=contents,
    )
    return Prepared(work, kept.keys, int((~fits).sum()))


def _keys(trace: Trace) -> Ints:
    key = trace.key.astype(np.int64)
    unknown = key == UNKNOWN
    key[unknown] = len(trace.keys) + np.arange(int(unknown.sum()))
    return key


def _made(trace: Trace, sharing: Sharing, request: Ints, position: Ints) -> Ints:
    key, session = trace.key.astype(np.int64), trace.session
    token = position * BLOCK
    template = sharing.template // BLOCK * BLOCK
    prefix = template + sharing.prefix // BLOCK * BLOCK
    kind = np.where(session[request] == UNKNOWN, _REQUEST, _SESSION)
    owner = np.where(session[request] == UNKNOWN, request, session[request])
    of_key = (token < prefix) & (key[request] != UNKNOWN)
    kind, owner = np.where(of_key, _KEY, kind), np.where(of_key, key[request], owner)
    of_all = token < template
    kind, owner = np.where(of_all, _TEMPLATE, kind), np.where(of_all, 0, owner)
    return _numbers(kind, owner, position)


def _given(blocks: Blocks, prompt: Ints, request: Ints, position: Ints) -> Ints:
    """Cut the trace's blocks into those of an engine; what is generated belongs to the request."""
    if blocks.size % BLOCK:
        raise SimulationError(f"blocks of {blocks.size} tokens cannot be cut into blocks of {BLOCK}")
    parts = blocks.size // BLOCK
    has = np.diff(blocks.offsets)[request] * parts
    inside = (position < has) & (position * BLOCK < prompt[request])
    at = np.minimum(blocks.offsets[request] + position // parts, max(blocks.ids.size - 1, 0))
    own = _numbers(np.full_like(request, _REQUEST), request, position)
    if not blocks.ids.size:
        return own
    contents: Ints = np.where(inside, _GIVEN + blocks.ids[at] * parts + position % parts, own)
    return contents


def _numbers(kind: Ints, owner: Ints, position: Ints) -> Ints:
    numbers: Ints = kind + (owner << _POSITION_BITS) + position
    return numbers
