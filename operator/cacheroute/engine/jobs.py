"""From an API request to work for the engine, with the answer it will give."""

from dataclasses import dataclass

import numpy as np

from cacheroute.engine.api import ChatRequest, CompletionRequest, GenerationRequest, TokenizeRequest
from cacheroute.engine.errors import RequestError, bad_request
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
    match body.prompt:
        case None | "":
            message = "Either prompt or prompt_embeds must be provided and non-empty."
            raise _refused(message, "prompt")
        case []:
            raise bad_request("You must pass at least one prompt")
        case str() as text:
            tokens = text_tokens(text)
        case ids:
            tokens = id_tokens(ids)
    limit = _COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens
    return _job(body, tokens, limit, settings)


def chat_job(body: ChatRequest, settings: EngineSettings) -> Job:
    """Return the work of a chat completion; raises RequestError where it cannot be done."""
    if not body.messages:
        raise bad_request(
            "Cannot apply chat template to an empty conversation. Provide at least one message."
        )
    tokens = chat_tokens((message.role, message.text) for message in body.messages)
    wished = body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens
    return _job(body, tokens, settings.max_model_len if wished is None else wished, settings)


def prompt_ids(body: TokenizeRequest) -> TokenIds:
    """Return the tokens of a prompt or of a chat."""
    if body.messages is None:
        return text_tokens(body.prompt)
    return chat_tokens((message.role, message.text) for message in body.messages)


def _job(body: GenerationRequest, prompt: TokenIds, limit: int, settings: EngineSettings) -> Job:
    if body.stream_options is not None and not body.stream:
        raise _refused("Stream options can only be defined when `stream=True`.", "stream_options")
    limit = _output_limit(len(prompt), limit, settings.max_model_len)
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


def _output_limit(prompt: int, wished: int, most: int) -> int:
    """Return how many tokens may be generated: what was wished, cut to what the context leaves."""
    if wished > most:
        raise _refused(
            f"max_tokens={wished} cannot be greater than max_model_len={most}. Please request fewer output tokens.",
            "max_tokens",
            wished,
        )
    if prompt > most:
        raise _refused(
            f"This model's maximum context length is {most} tokens. However, your prompt contains "
            f"{prompt} input tokens, which exceeds this limit even without any output tokens. "
            "Please reduce the length of the input prompt.",
            "input_tokens",
            prompt,
        )
    limit = min(wished, most - prompt)
    if limit < 1:
        raise _refused(f"max_tokens must be at least 1, got {limit}.", "max_tokens", limit)
    return limit


def _refused(message: str, field: str, value: int | None = None) -> RequestError:
    """Return a refusal in vLLM's words: they end with the field, and its value where that is a number."""
    more = "" if value is None else f", value={value}"
    return bad_request(f"{message} (parameter={field}{more})", field)
