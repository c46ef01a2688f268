"""Many tenants whose rates follow the paper's distribution, and what they ask; a pure function of a seed.

A prompt is a template that all tenants share, the tenant's own context, and a question of its own. Whether planning
helps depends on one thing above all: how much of the contexts fits where. An engine's cache is sized so that it keeps
the contexts of its own share of the tenants one and a half times (``cache_blocks``). A plan that gives each tenant one
engine therefore finds nearly all of them warm; flat balancing wants every context on every engine, six times as much
as there is room for, and keeps only the busy ones warm. With caches that keep everything, both would hit alike. At
these sizes flat settles near 64 % and a plan near 92 %, as in the paper's primary workload at 128 keys.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIGMA = 1.65
"""Of the lognormal key rates of the paper's primary workload (arXiv 2608.19677, section 4)."""
MAX_SHARE = 0.02
"""Largest share of one tenant; the paper caps at 0.29 % of 128,824 keys, this is the same idea for hundreds."""
CAP_ROUNDS = 8
"""Capping one share raises the others; after so many rounds nothing moves any more."""
BYTES_PER_TOKEN = 4
"""Of the simulated engine's tokenizer."""
BLOCK_SIZE = 16
"""Tokens in a block of the engines' KV cache."""
CACHE_FACTOR = 1.5
"""How often an engine's cache holds the contexts of its share of the tenants; the rest is for questions and answers."""
FEWEST_BLOCKS = 512
"""Room for the requests that run at once, however few the tenants are."""
_LETTERS = 26


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of prompts and answers, tokens.

    Attributes:
        shared: the template in front of every prompt.
        context: a tenant's own.
        question: differs in every request.
        answer: generated tokens.
    """

    shared: int = 64
    context: int = 896
    question: int = 64
    answer: int = 16

    @property
    def prompt(self) -> int:
        """Tokens of a whole prompt."""
        return self.shared + self.context + self.question

    @property
    def prefix_blocks(self) -> int:
        """KV blocks that a tenant's reusable prefix fills."""
        return -(-(self.shared + self.context) // BLOCK_SIZE)

    def blocks_needed(self, tenants: int) -> int:
        """Return the KV blocks that the prefixes of ``tenants`` tenants fill."""
        return tenants * self.prefix_blocks

    def cache_blocks(self, tenants: int, engines: int) -> int:
        """Return the KV blocks that each engine gets, see the module."""
        share = -(-tenants // engines)
        return max(FEWEST_BLOCKS, int(CACHE_FACTOR * self.blocks_needed(share)))

    def warm_prefixes(self, tenants: int, engines: int) -> int:
        """Return how many tenants' prefixes such an engine keeps."""
        return max(1, self.cache_blocks(tenants, engines) // self.prefix_blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """An open-loop schedule: requests are sent at these times whatever became of the ones before.

    Attributes:
        seconds: float64[N], from the start of the phase, ascending.
        tenant: int64[N].
    """

    seconds: NDArray[np.float64]
    tenant: NDArray[np.int64]


def shares(tenants: int, seed: int) -> NDArray[np.float64]:
    """Return each tenant's share of the requests: lognormal, the largest capped; float64[tenants], sums to 1."""
    return capped(weights(tenants, seed))


def weights(tenants: int, seed: int) -> NDArray[np.float64]:
    """Return lognormal weights of the tenants, float64[tenants]."""
    return np.random.default_rng(seed).lognormal(0.0, SIGMA, tenants)


def capped(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares in proportion to the weights, the largest capped; float64 of the same shape, sums to 1."""
    share: NDArray[np.float64] = weight / weight.sum()
    cap = max(MAX_SHARE, CACHE_FACTOR / share.size)
    for _ in range(CAP_ROUNDS):
        share = np.minimum(share, cap)
        share /= share.sum()
    return share


def arrivals(
    share: NDArray[np.float64], rate: float, seconds: float, seed: int | tuple[int, ...]
) -> Arrivals:
    """Return Poisson arrivals at ``rate`` requests/s for ``seconds``, the same for the same ``seed``."""
    generator = np.random.default_rng(seed)
    number = int(generator.poisson(rate * seconds))
    return Arrivals(
        seconds=np.sort(generator.uniform(0.0, seconds, number)),
        tenant=generator.choice(share.size, size=number, p=share),
    )


def text(tokens: int, *name: int) -> str:
    """Return made-up text of that many tokens, the same for the same ``name``."""
    noise = np.random.default_rng(name).integers(0, _LETTERS, (tokens, BYTES_PER_TOKEN))
    noise[:, 1:] += ord("a")
    noise[:, 0] = ord(" ")
    return noise.astype(np.uint8).tobytes().decode("ascii")


class Prompts:
    """Makes prompts; contexts are kept."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self._shape, self._seed = shape, seed
        self._template = text(shape.shared, seed, 1)
        self._contexts: dict[int, str] = {}

    def prompt(self, tenant: int, number: int) -> str:
        """Return the prompt of a tenant's request; ``number`` makes the question unique."""
        if tenant not in self._contexts:
            self._contexts[tenant] = text(self._shape.context, self._seed, 2, tenant)
        return self._template + self._contexts[tenant] + text(self._shape.question, self._seed, 3, number)
