"""Answers in the shapes of the OpenAI API, as vLLM writes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from cacheroute.engine.errors import RequestError
from cacheroute.simulation.engine_model.requests import LiveRequest

Json = Mapping[str, Any]
DONE = b"data: [DONE]\n\n"


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


class CompletionDialect:
    """Answers of /v1/completions."""

    id_prefix = "cmpl-"
    whole_object = chunk_object = "text_completion"

    def whole(self, text: str, reason: str) -> Json:
        """Return the choice of an answer in one piece."""
        return self.piece(text, reason)

    def opening(self) -> Json | None:
        """Return None: the first chunk is the first text."""
        return None

    def piece(self, text: str, reason: str | None) -> Json:
        """Return the choice of one chunk."""
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}


class ChatDialect:
    """Answers of /v1/chat/completions."""

    id_prefix = "chatcmpl-"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def whole(self, text: str, reason: str) -> Json:
        """Return the choice of an answer in one piece."""
        message = {"role": "assistant", "content": text}
        return {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": reason,
            "stop_reason": None,
        }

    def opening(self) -> Json | None:
        """Return the chunk that names the role."""
        delta = {"role": "assistant", "content": ""}
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}

    def piece(self, text: str, reason: str | None) -> Json:
        """Return the choice of one chunk."""
        return {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": reason}


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
        return orjson.dumps({**self._head(self.dialect.whole_object), "choices": [choice], "usage": usage})

    def chunk(self, choice: Json) -> bytes:
        """Return one event of a stream."""
        return self._event({**self._head(self.dialect.chunk_object), "choices": [choice]})

    def usage_chunk(self, usage: Json) -> bytes:
        """Return the last event before ``[DONE]``."""
        return self._event({**self._head(self.dialect.chunk_object), "choices": [], "usage": usage})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.dialect.id_prefix + self.request_id,
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    @staticmethod
    def _event(body: Json) -> bytes:
        return b"data: " + orjson.dumps(body) + b"\n\n"


def usage(live: LiveRequest, *, details: bool) -> Json:
    """Return the token counts of a request so far."""
    prompt = live.request.prompt_tokens
    counts: dict[str, Any] = {
        "prompt_tokens": prompt,
        "total_tokens": prompt + live.generated,
        "completion_tokens": live.generated,
    }
    if details:
        counts["prompt_tokens_details"] = {"cached_tokens": live.cached_tokens}
    return counts


def error_body(error: RequestError) -> bytes:
    """Return the body of a refusal."""
    detail = {"message": str(error), "type": error.kind, "param": error.field, "code": error.status}
    return orjson.dumps({"error": detail})
