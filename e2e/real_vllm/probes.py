"""Requests whose answers by real vLLM are recorded, and what of an answer can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from e2e.real_vllm.engine import MAX_MODEL_LEN, MODEL

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
_IDS = [5] * 100
_CHAT = [{"role": "user", "content": "hello there " * 10}]
_USAGE = {"stream": True, "stream_options": {"include_usage": True}}
_CHANGING = {
    "id",
    "item_id",
    "created",
    "created_at",
    "system_fingerprint",
    "text",
    "content",
    "delta",
    "root",
    "embedding",
}
"""Members that differ from run to run; where one is a string or a number, the recording has "…" for it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One request.

    Attributes:
        name: in the recording.
        path: of the API.
        body: JSON, or bytes as they are.
    """

    name: str
    path: str
    body: Any


def _completion(name: str, **body: Any) -> Probe:
    fixed = {"model": MODEL, "max_tokens": 3, "temperature": 0, "ignore_eos": True}
    return Probe(name, COMPLETIONS, {**fixed, **body})


def _chat(name: str, **body: Any) -> Probe:
    fixed = {"model": MODEL, "messages": _CHAT, "max_tokens": 3, "temperature": 0, "ignore_eos": True}
    return Probe(name, CHAT, {**fixed, **body})


def _response(name: str, **body: Any) -> Probe:
    fixed = {"model": MODEL, "input": "hello " * 40, "max_output_tokens": 3, "temperature": 0}
    return Probe(name, "/v1/responses", {**fixed, **body})


def _message(name: str, **body: Any) -> Probe:
    messages = [{"role": "user", "content": "good day " * 10}]
    return Probe(
        name, "/v1/messages", {"model": MODEL, "messages": messages, "max_tokens": 3, "temperature": 0} | body
    )


PROBES = (
    _completion("completion", prompt=_IDS),
    _completion("completion again", prompt=_IDS),
    _completion("completion stream", prompt=_IDS, stream=True),
    _completion("completion stream with usage", prompt=_IDS, **_USAGE),
    _completion("completion cut to the context", prompt=[6] * (MAX_MODEL_LEN - 5), max_tokens=100),
    _completion("completion that just fits", prompt=[6] * (MAX_MODEL_LEN - 1), max_tokens=1),
    _completion("completion as long as the context", prompt=[6] * MAX_MODEL_LEN, max_tokens=1),
    _completion("completion longer than the context", prompt=[6] * (MAX_MODEL_LEN + 952), max_tokens=1),
    _completion("completion of no tokens", prompt=_IDS, max_tokens=0),
    _completion("completion of more tokens than the context", prompt=_IDS, max_tokens=4000),
    _completion("completion of no text", prompt=""),
    _completion("completion of no prompts", prompt=[]),
    _completion("completion by another model", prompt=_IDS, model="other"),
    _completion("stream is no boolean", prompt=_IDS, stream="perhaps"),
    _completion("stream options without a stream", prompt=_IDS, stream_options={"include_usage": True}),
    Probe("completion without a prompt", COMPLETIONS, {"model": MODEL}),
    Probe("completion without a model", COMPLETIONS, {"prompt": _IDS, "max_tokens": 3}),
    Probe("no JSON", COMPLETIONS, b"{"),
    _chat("chat"),
    _chat("chat again"),
    _chat("chat stream", stream=True),
    _chat("chat stream with usage", **_USAGE),
    _chat("chat of more tokens than the context", max_tokens=4000),
    _chat("chat longer than the context", messages=[{"role": "user", "content": "word " * 4000}]),
    _chat("chat by another model", model="other"),
    _chat("chat without messages", messages=[]),
    Probe("unknown path", "/v1/nothing", {}),
    Probe("wrong method", "/v1/models", {}),
    Probe("models", "/v1/models", None),
    Probe("tokenize", "/tokenize", {"model": MODEL, "prompt": "hello world!"}),
    Probe("tokenize chat", "/tokenize", {"model": MODEL, "messages": _CHAT}),
)
"""What the simulated engine answers too."""

OTHER_PROBES = (
    _completion(
        "completion stream with usage in every event",
        prompt=_IDS,
        stream=True,
        stream_options={"include_usage": True, "continuous_usage_stats": True},
    ),
    _completion("completion of two prompts", prompt=[_IDS, [7] * 50]),
    _response("response"),
    _response("response again"),
    _response("response stream", stream=True),
    _message("message"),
    _message("message again"),
    _message("message stream", stream=True),
    _message("message by another model", model="other"),
)
"""What only real vLLM answers."""

EMBEDDINGS = (
    Probe(
        "embeddings",
        "/v1/embeddings",
        {"model": MODEL, "input": ["hello", "you"], "encoding_format": "base64"},
    ),
)
"""For an engine that serves them."""


async def ask(client: aiohttp.ClientSession, probe: Probe) -> dict[str, Any]:
    """Send a probe and return the answer as the recording has it."""
    method = "GET" if probe.body is None else "POST"
    data = probe.body if isinstance(probe.body, bytes) else orjson.dumps(probe.body)
    headers = {"Content-Type": "application/json"}
    async with client.request(method, probe.path, data=data, headers=headers) as answer:
        text = await answer.text()
        kind = answer.headers["Content-Type"]
        content = _events(text) if kind.startswith("text/event-stream") else orjson.loads(text)
        return {
            "name": probe.name,
            "path": probe.path,
            "status": answer.status,
            "type": kind,
            "answer": without_changing(content),
        }


def without_changing(content: Any) -> Any:
    """Return a copy with "…" in place of what differs from run to run."""
    match content:
        case Mapping():
            return {
                key: "…" if key in _CHANGING and isinstance(value, str | int) else without_changing(value)
                for key, value in content.items()
            }
        case list():
            return [without_changing(one) for one in content]
        case _:
            return content


def _events(text: str) -> list[Any]:
    """Return the events of a stream: their data, with the name of those that have one."""
    events = []
    for block in text.split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        data = lines["data"] if lines["data"] == "[DONE]" else orjson.loads(lines["data"])
        events.append({"event": lines["event"], "data": data} if "event" in lines else {"data": data})
    return events
