"""A request before, in and after the engine."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class FinishReason(StrEnum):
    """Why a request ended; the values are vLLM's."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What the engine has to do. The output is known in advance: this is a simulation."""

    prompt_tokens: int
    """Length of the prompt, at least 1."""
    output_tokens: int
    """Tokens to generate, at least 1."""
    block_hashes: Sequence[Hashable]
    """Hashes of the full blocks of prompt and output together, first block first."""
    finish_reason: FinishReason = FinishReason.LENGTH
    """Reported after the last token."""


@dataclass(slots=True, eq=False)
class LiveRequest:
    """A request in the engine; only the engine model writes to it. Times are seconds of the engine's clock."""

    request: EngineRequest
    arrived: float
    queued: float
    """When the scheduler saw it."""
    scheduled: float = -1.0
    """When its first step began."""
    first_token: float = -1.0
    last_token: float = -1.0
    token_before: float = -1.0
    """When the token before the last one came."""
    finished: float = -1.0
    """When the answer is complete."""
    computed: int = 0
    """Tokens whose KV entries exist."""
    generated: int = 0
    """Output tokens so far."""
    cached_tokens: int = 0
    """Prompt tokens found in the prefix cache when it was first scheduled; a multiple of the block size."""
    preemptions: int = 0
    finish_reason: FinishReason | None = None
    """None until the answer is complete."""
    blocks: list[int] = field(default_factory=list)

    @property
    def known(self) -> int:
        """Tokens that exist: the prompt and the output so far."""
        return self.request.prompt_tokens + self.generated

    @property
    def exhausted(self) -> bool:
        """Whether every output token has been generated."""
        return self.generated >= self.request.output_tokens
