"""From bodies of requests to work."""

from typing import Any

import orjson
import pytest

from cacheroute.engine.api import ChatRequest, CompletionRequest, parse
from cacheroute.engine.errors import RequestError
from cacheroute.engine.jobs import Job, chat_job, completion_job
from cacheroute.engine.settings import BatchSettings, EngineSettings
from cacheroute.simulation.engine_model.requests import FinishReason

SETTINGS = EngineSettings(batch=BatchSettings(max_model_len=2000))


def completion(**body: Any) -> Job:
    """Return the job of a completion."""
    return completion_job(parse(CompletionRequest, orjson.dumps(body)), SETTINGS)


def chat(*contents: Any, **body: Any) -> Job:
    """Return the job of a chat of user messages."""
    messages = [{"role": "user", "content": content} for content in contents]
    return chat_job(parse(ChatRequest, orjson.dumps({"messages": messages, **body})), SETTINGS)


@pytest.mark.parametrize("prompt", ["a" * 40, ["a" * 40], list(range(10)), [list(range(10))]])
def test_prompts_are_text_or_ids_alone_or_in_a_list(prompt: object) -> None:
    job = completion(prompt=prompt)
    assert (job.work.prompt_tokens, job.work.output_tokens) == (10, 16)


@pytest.mark.parametrize(
    ("body", "output", "reason"),
    [
        ({}, 16, FinishReason.LENGTH),
        ({"max_tokens": 3}, 3, FinishReason.LENGTH),
        ({"max_tokens": 1500, "ignore_eos": True}, 1500, FinishReason.LENGTH),
        ({"max_tokens": 1500, "min_tokens": 900}, 900, FinishReason.STOP),
    ],
)
def test_lengths_of_completions(body: dict[str, Any], output: int, reason: FinishReason) -> None:
    job = completion(prompt="hello", **body)
    assert (job.work.output_tokens, job.work.finish_reason) == (output, reason)
    assert len(job.work.block_hashes) == (2 + output) // 16
    assert job.piece(0, output) == job.text
    assert len(job.text) == 4 * output


def test_a_chat_without_a_limit_ends_by_itself() -> None:
    job = chat("hello")
    assert job.work.finish_reason is FinishReason.STOP
    assert 64 <= job.work.output_tokens < 576


def test_max_completion_tokens_wins() -> None:
    assert chat("hello", max_tokens=5, max_completion_tokens=7).work.output_tokens == 7


def test_content_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
    assert chat(parts).work == chat("hello").work


def test_a_salt_isolates() -> None:
    prompt = "x" * 400
    plain, same, salted = (completion(prompt=prompt, cache_salt=salt) for salt in ("", "", "tenant"))
    assert plain.work == same.work
    assert not set(plain.work.block_hashes) & set(salted.work.block_hashes)
    assert plain.text == salted.text


def test_hashes_of_a_conversation_go_on() -> None:
    turns = [{"role": "user", "content": "x" * 300}]
    first = chat(*(turn["content"] for turn in turns), max_tokens=40, ignore_eos=True)
    turns += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "more"}]
    second = chat_job(parse(ChatRequest, orjson.dumps({"messages": turns, "max_tokens": 1})), SETTINGS)
    whole = len(first.work.block_hashes)
    assert whole == (first.work.prompt_tokens + 40) // 16
    assert second.work.block_hashes[:whole] == first.work.block_hashes


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (CompletionRequest, b"{", "body: Invalid JSON"),
        (CompletionRequest, b"[]", "body: "),
        (CompletionRequest, b"{}", "prompt: Field required"),
        (CompletionRequest, b'{"prompt": ["a", "b"]}', "prompt"),
        (CompletionRequest, b'{"prompt": 7}', "prompt"),
        (CompletionRequest, b'{"prompt": "a", "max_tokens": 0}', "max_tokens: "),
        (CompletionRequest, b'{"prompt": "a", "n": 2}', "n: "),
        (CompletionRequest, b'{"prompt": "a", "stream": "perhaps"}', "stream: "),
        (ChatRequest, b'{"messages": []}', "messages: "),
        (ChatRequest, b'{"messages": [{"content": "a"}]}', "messages.0.role: Field required"),
        (
            ChatRequest,
            b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "messages.0.content",
        ),
    ],
)
def test_bad_bodies_are_named(kind: type[CompletionRequest | ChatRequest], body: bytes, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(kind, body)
    assert caught.value.status == 400
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("prompt", ["", []])
def test_an_empty_prompt_is_refused(prompt: object) -> None:
    with pytest.raises(RequestError, match="empty"):
        completion(prompt=prompt)


def test_too_long_a_request_is_refused_with_its_numbers() -> None:
    assert completion(prompt="a" * 4 * 1990, max_tokens=10).work.prompt_tokens == 1990
    with pytest.raises(RequestError, match=r"1991 prompt tokens and asks for 10 output tokens.*2000"):
        completion(prompt="a" * 4 * 1991, max_tokens=10)
    with pytest.raises(RequestError, match="context is 2000"):
        chat("a" * 8000)
