"""Requests in a row whose prompts share prefixes, told by recipe: a few numbers instead of thousands of token ids."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

_FIRST_ID, _IDS = 3, 1000
"""Ids that are no special tokens, all within the tiny model's vocabulary."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request.

    Attributes:
        segments: (seed, tokens) of each piece of the prompt; equal seeds begin with equal tokens.
        max_tokens: to generate.
        after: number of the turn whose prompt and answer stand before; None begins a conversation.
    """

    segments: tuple[tuple[int, int], ...]
    max_tokens: int
    after: int | None = None

    def prompt(self, history: Sequence[Sequence[int]]) -> list[int]:
        """Return the token ids, given prompt and answer of every turn before."""
        before = [] if self.after is None else history[self.after]
        return [*before, *(token for seed, length in self.segments for token in tokens(seed, length))]


def tokens(seed: int, length: int) -> list[int]:
    """Return made-up token ids."""
    chooser = random.Random(seed)  # noqa: S311 - made up, and the same each time
    return [chooser.randrange(_FIRST_ID, _IDS) for _ in range(length)]


def turns(seed: int, count: int) -> list[Turn]:
    """Return requests of eight tenants with prefixes of 100 to 900 tokens, some of them later turns of a conversation."""
    chooser = random.Random(seed)  # noqa: S311 - made up, and the same each time
    prefixes = [(seed * 1000 + tenant, chooser.randrange(100, 900)) for tenant in range(8)]
    return [_turn(chooser, prefixes, seed * 1000 + 100 + number, number) for number in range(count)]


def _turn(chooser: random.Random, prefixes: Sequence[tuple[int, int]], seed: int, number: int) -> Turn:
    length = chooser.choice([0, 1, 5, 31, 32, 33, 100, 300])
    output = chooser.choice([1, 1, 2, 5, 20, 33, 64, 65])
    if number and chooser.random() < 0.2:
        return Turn(((seed, min(length, 32) + 1),), output, chooser.randrange(number))
    prefix, whole = chooser.choice(prefixes)
    part = chooser.choice([whole, whole, chooser.randrange(1, whole)])
    return Turn(((prefix, part), (seed, length)), output)
