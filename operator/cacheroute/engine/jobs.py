"""From an API request to work for the engine, with the answer it will give."""

from dataclasses import dataclass

import numpy as np

from cacheroute.engine.api import ChatRequest, CompletionRequest, GenerationRequest
from cacheroute.engine.errors import bad_request
from cacheroute.engine.settings import EngineSettings
from cacheroute.engine.tokens import (
    BYTES_PER_TOKEN,
    chat_tokens,
    generated_text,
    id_tokens,
    natural_length,
    prompt_seed,
    text_tokens,
)
from cacheroute.simulation.engine_model.hashes import TokenIds, chain_hashes
from cacheroute.simulation.engine_model.requests import EngineRequest, FinishReason

_COMPLETION_TOKENS = 16  # where the client names no limit, as in OpenAI's API


@dataclass(frozen=True, slots=True)
class Job:
    """A request with its whole answer."""

    work: EngineRequest
    text: str

    def piece(self, start: int, end: int) -> str:
        """Return the text of the output tokens from ``start`` up to ``end``."""
        return self.text[start * BYTES_PER_TOKEN : end * BYTES_PER_TOKEN]


def completion_job(body: CompletionRequest, settings: EngineSettings) -> Job:
    """Return the work of a completion; raises RequestError where it cannot be done."""
    tokens = text_tokens(body.prompt) if isinstance(body.prompt, str) else id_tokens(body.prompt)
    return _job(body, tokens, body.max_tokens or _COMPLETION_TOKENS, settings)


def chat_job(body: ChatRequest, settings: EngineSettings) -> Job:
    """Return the work of a chat completion; raises RequestError where it cannot be done."""
    tokens = chat_tokens((message.role, message.text) for message in body.messages)
    limit = body.max_completion_tokens or body.max_tokens or max(1, settings.max_model_len - len(tokens))
    return _job(body, tokens, limit, settings)


def _job(body: GenerationRequest, prompt: TokenIds, limit: int, settings: EngineSettings) -> Job:
    _check_length(len(prompt), limit, settings.max_model_len)
    seed = prompt_seed(prompt)
    natural = max(body.min_tokens, natural_length(seed))
    stops = natural <= limit and not body.ignore_eos
    output = natural if stops else limit
    text = generated_text(seed, output)
    everything = np.concatenate((prompt, text_tokens(text)))
    work = EngineRequest(
        prompt_tokens=len(prompt),
        output_tokens=output,
        block_hashes=chain_hashes(everything, settings.cache.block_size, body.cache_salt),
        finish_reason=FinishReason.STOP if stops else FinishReason.LENGTH,
    )
    return Job(work, text)


def _check_length(prompt: int, output: int, most: int) -> None:
    if not prompt:
        raise bad_request("prompt: is empty; send at least one token", "prompt")
    if prompt + output > most:
        raise bad_request(
            f"the request has {prompt} prompt tokens and asks for {output} output tokens, but this model's "
            f"context is {most} tokens; shorten the prompt or lower max_tokens"
        )
