"""Requests of tenants: a template that all share, a segment of the tenant, one of its documents, and a turn of its own.

CacheRoute (arXiv 2608.19677) describes prompts of about 1,200 tokens of a global template, the tenant's context, a
retrieved block and the turn. The tenant's part of 15 % that it names cannot explain the gap of 29 points that it
measured between flat and affine routing, so the sizes are parameters here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.fleet.state import Work

_TEMPLATE, _SEGMENT, _DOCUMENT, _TURN = (np.int64(kind) << 56 for kind in range(1, 5))


@dataclass(frozen=True, slots=True)
class Prompts:
    """Sizes of the parts of a prompt, tokens; every part but the turn is a multiple of the block size.

    Attributes:
        template: shared by all.
        segment: shared by the requests of a key.
        document: shared by the requests of a key that retrieve the same document.
        documents: how many documents a key has; each request retrieves one, evenly.
        turn: new in every request.
        output: mean output tokens, geometrically distributed.
    """

    template: int = 512
    segment: int = 192
    document: int = 416
    documents: int = 16
    turn: int = 80
    output: int = 128

    @property
    def tokens(self) -> int:
        """Length of a prompt."""
        return self.template + self.segment + self.document + self.turn


def tenants(
    arrival: NDArray[np.float64],
    shares: NDArray[np.float64],
    prompts: Prompts,
    random: np.random.Generator,
    block: int = 16,
) -> Work:
    """Return requests of keys with these shares of the traffic.

    Args:
        arrival: float64[N], seconds, ascending.
        shares: float64[K], sum 1.
        prompts: sizes.
        random: where chance comes from.
        block: tokens in a block.
    """
    return requests_of(arrival, random.choice(shares.size, arrival.size, p=shares), prompts, random, block)


def requests_of(
    arrival: NDArray[np.float64],
    key: NDArray[np.int64],
    prompts: Prompts,
    random: np.random.Generator,
    block: int = 16,
) -> Work:
    """Return requests of these keys, int64[N]."""
    size = arrival.size
    document = random.integers(0, prompts.documents, size)
    output = random.geometric(1.0 / prompts.output, size)
    lengths = -(-(prompts.tokens + output) // block)
    first = np.concatenate(([0], np.cumsum(lengths)))
    return Work(
        arrival=arrival,
        key=key.astype(np.int64),
        session=np.arange(size),
        prompt=np.full(size, prompts.tokens, dtype=np.int64),
        output=output.astype(np.int64),
        first_block=first.astype(np.int64),
        contents=_contents(first, (key, document), prompts, block),
    )


def _contents(
    first: NDArray[np.int64], drawn: tuple[NDArray[np.int64], NDArray[np.int64]], prompts: Prompts, block: int
) -> NDArray[np.int64]:
    """Return the block contents: kind, owner and position in one number each."""
    key, document = drawn
    lengths = np.diff(first)
    request = np.repeat(np.arange(lengths.size), lengths)
    position = np.arange(first[-1]) - np.repeat(first[:-1], lengths)
    token = position * block
    ends = np.cumsum([prompts.template, prompts.segment, prompts.document])
    owner = np.select(
        [token < ends[0], token < ends[1], token < ends[2]],
        [np.zeros_like(request), key[request], key[request] * prompts.documents + document[request]],
        default=request,
    )
    kind = np.select(
        [token < ends[0], token < ends[1], token < ends[2]], [_TEMPLATE, _SEGMENT, _DOCUMENT], default=_TURN
    )
    contents: NDArray[np.int64] = kind + (owner << 16) + position
    return contents
