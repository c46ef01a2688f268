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
    ("kind", "body", "field"),
    [
        (CompletionRequest, b"{", "body"),
        (CompletionRequest, b"[]", "body"),
        (CompletionRequest, b'{"prompt": ["a", "b"]}', "body.prompt"),
        (CompletionRequest, b'{"prompt": 7}', "body.prompt"),
        (CompletionRequest, b'{"prompt": "a", "max_tokens": "many"}', "body.max_tokens"),
        (CompletionRequest, b'{"prompt": "a", "n": 2}', "body.n"),
        (CompletionRequest, b'{"prompt": "a", "stream": "perhaps"}', "body.stream"),
        (ChatRequest, b"{}", "body.messages"),
        (ChatRequest, b'{"messages": [{"content": "a"}]}', "body.messages.0.role"),
        (
            ChatRequest,
            b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "body.messages.0.content",
        ),
    ],
)
def test_bad_bodies_are_named(kind: type[CompletionRequest | ChatRequest], body: bytes, field: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(kind, body)
    assert (caught.value.status, caught.value.kind) == (400, "Bad Request")
    assert (caught.value.field or "").startswith(field)
    assert str(caught.value).startswith(f"{caught.value.field}: ")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, None),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens"),
        ({"prompt": "a", "max_tokens": -1}, "max_tokens"),
        ({"prompt": "a", "max_tokens": 2001}, "max_tokens"),
        ({"prompt": "a" * 4 * 2000}, "max_tokens"),
        ({"prompt": "a" * 4 * 2001}, "input_tokens"),
        ({"prompt": "a", "stream_options": {"include_usage": True}}, "stream_options"),
    ],
)
def test_work_that_cannot_be_done_is_refused(body: dict[str, Any], field: str | None) -> None:
    with pytest.raises(RequestError) as caught:
        completion(**body)
    assert (caught.value.status, caught.value.kind) == (400, "BadRequestError")
    assert caught.value.field == field
    assert field is None or f"(parameter={field}" in str(caught.value)


def test_an_answer_is_cut_to_what_the_context_leaves() -> None:
    job = completion(prompt="a" * 4 * 1990, max_tokens=100, ignore_eos=True)
    assert (job.work.prompt_tokens, job.work.output_tokens) == (1990, 10)
    assert job.work.finish_reason is FinishReason.LENGTH


def test_a_chat_that_is_too_long_or_empty_is_refused() -> None:
    with pytest.raises(RequestError, match="maximum context length is 2000 tokens"):
        chat("a" * 8000)
    with pytest.raises(RequestError, match="at least one message"):
        chat()
