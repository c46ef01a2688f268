"""Answers in the shapes of the OpenAI API, as vLLM writes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from cacheroute import __version__
from cacheroute.engine.errors import RequestError
from cacheroute.simulation.engine_model.requests import LiveRequest

Json = Mapping[str, Any]
DONE = b"data: [DONE]\n\n"
_FINGERPRINT = f"cacheroute-{__version__}"
_MESSAGE = ("refusal", "annotations", "audio", "function_call", "reasoning")
_ROUTED = {"prompt_token_ids": None, "routed_experts": None}
_TRANSFERS = {"kv_transfer_params": None, "ec_transfer_params": None, "metrics": None}


class Dialect(Protocol):
    """What differs between the two kinds of answer."""

    id_prefix: str
    whole_object: str
    chunk_object: str

    def whole(self, text: str, reason: str) -> Json:
        """Return the choice of an answer in one piece."""

    def opening(self) -> Json | None:
        """Return the choice that opens a stream, None where there is none."""

    def piece(self, text: str, reason: str | None) -> Json:
        """Return the choice of one chunk."""

    def details(self, live: LiveRequest, block_size: int) -> Json:
        """Return what a stream's usage tells of the prompt."""

    def absent(self) -> Json:
        """Return the members of a whole answer that are always null here."""


class CompletionDialect:
    """Answers of /v1/completions."""

    id_prefix = "cmpl-"
    whole_object = chunk_object = "text_completion"

    def whole(self, text: str, reason: str) -> Json:
        """Return the choice of an answer in one piece."""
        return {**self._choice(text, reason), "token_ids": None, "prompt_logprobs": None, **_ROUTED}

    def opening(self) -> Json | None:
        """Return None: the first chunk is the first text."""
        return None

    def piece(self, text: str, reason: str | None) -> Json:
        """Return the choice of one chunk."""
        return {**self._choice(text, reason), "prompt_token_ids": None, "token_ids": None}

    def details(self, live: LiveRequest, block_size: int) -> Json:  # noqa: ARG002 - told in chats only
        """Return what a stream's usage tells of the prompt."""
        return {"cached_tokens": live.cached_tokens}

    def absent(self) -> Json:
        """Return the members of a whole answer that are always null here."""
        return {}

    @staticmethod
    def _choice(text: str, reason: str | None) -> Json:
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}


class ChatDialect:
    """Answers of /v1/chat/completions."""

    id_prefix = "chatcmpl-"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def whole(self, text: str, reason: str) -> Json:
        """Return the choice of an answer in one piece."""
        message = {"role": "assistant", "content": text, **dict.fromkeys(_MESSAGE)}
        return {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": reason,
            "stop_reason": None,
            "token_ids": None,
            "routed_experts": None,
        }

    def opening(self) -> Json | None:
        """Return the chunk that names the role."""
        delta = {"role": "assistant", "content": ""}
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}

    def piece(self, text: str, reason: str | None) -> Json:
        """Return the choice of one chunk."""
        end = {} if reason is None else {"stop_reason": None}
        delta = {"content": text}
        return {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": reason,
            **end,
            "token_ids": None,
        }

    def details(self, live: LiveRequest, block_size: int) -> Json:
        """Return what a stream's usage tells of the prompt: also what of it was added to the cache."""
        full = live.request.prompt_tokens // block_size * block_size
        return {
            "cached_tokens": live.cached_tokens,
            "created_cache_tokens": max(0, full - live.cached_tokens),
        }

    def absent(self) -> Json:
        """Return the members of a whole answer that are always null here."""
        return {"prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None}


@dataclass(frozen=True, slots=True)
class Envelope:
    """What every piece of one answer repeats."""

    dialect: Dialect
    request_id: str
    created: int
    """Unix time in seconds."""
    model: str

    def whole(self, text: str, reason: str, usage: Json) -> bytes:
        """Return the body of an answer in one piece."""
        choice = self.dialect.whole(text, reason)
        head = {**self._head(self.dialect.whole_object), "choices": [choice]}
        service = {"service_tier": None, "system_fingerprint": _FINGERPRINT}
        return orjson.dumps({**head, **service, "usage": usage, **self.dialect.absent(), **_TRANSFERS})

    def opening(self, choice: Json) -> bytes:
        """Return the event that opens a stream."""
        head = self._head(self.dialect.chunk_object)
        return event({**head, "choices": [choice], "prompt_token_ids": None, "prompt_text": None})

    def chunk(self, choice: Json, *, last: bool) -> bytes:
        """Return one event of a stream; ``last`` where nothing but ``[DONE]`` follows."""
        end = {"system_fingerprint": _FINGERPRINT} if last else {}
        return event({**self._head(self.dialect.chunk_object), "choices": [choice], **end})

    def usage_chunk(self, usage: Json) -> bytes:
        """Return the last event before ``[DONE]``."""
        head = {**self._head(self.dialect.chunk_object), "choices": []}
        return event({**head, "usage": usage, "system_fingerprint": _FINGERPRINT})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.dialect.id_prefix + self.request_id,
            "object": kind,
            "created": self.created,
            "model": self.model,
        }


def event(body: Json) -> bytes:
    """Return one event of a stream."""
    return b"data: " + orjson.dumps(body) + b"\n\n"


def usage(live: LiveRequest) -> dict[str, Any]:
    """Return the token counts of a request so far, without details."""
    prompt = live.request.prompt_tokens
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + live.generated,
        "completion_tokens": live.generated,
    }


def whole_usage(live: LiveRequest, details: Json | None) -> Json:
    """Return the usage of an answer in one piece: it names what a stream leaves out."""
    known = {"created_cache_tokens": None, "multimodal_tokens": None}
    told = None if details is None else {"cached_tokens": 0, **known, **details}
    return {**usage(live), "prompt_tokens_details": told, "completion_tokens_details": None}


def stream_usage(live: LiveRequest, details: Json | None) -> Json:
    """Return the usage at the end of a stream."""
    return usage(live) if details is None else {**usage(live), "prompt_tokens_details": details}


def error_body(error: RequestError) -> Json:
    """Return the body of a refusal."""
    detail = {"message": str(error), "type": error.kind, "param": error.field, "code": error.status}
    return {"error": detail}
