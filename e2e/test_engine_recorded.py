"""The simulated server answers as real vLLM did (recorded by `make e2e-vllm`)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from e2e.real_vllm import recorded
from e2e.real_vllm.engine import BLOCK_SIZE, BLOCKS, MAX_MODEL_LEN, MODEL
from e2e.real_vllm.probes import PROBES, ask
from e2e.test_engine import Engine, serving

_OWN_WORDS = {"stream is no boolean", "no JSON", "chat longer than the context"}
"""Refusals whose message is ours: what it says of the text depends on a parser or a tokenizer."""
_OWN_TOKENS = {"models", "tokenize", "tokenize chat"}
"""Answers that depend on the tokenizer or the owner: only their form is compared, as with chats."""


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    sizes = ("--block-size", str(BLOCK_SIZE), "--num-gpu-blocks-override", str(BLOCKS))
    slow = ("--speed", "0.3")  # a chunk for each token
    async with serving("--model", MODEL, *slow, "--max-model-len", str(MAX_MODEL_LEN), *sizes) as running:
        yield running


async def test_answers(engine: Engine) -> None:
    answers = [await ask(engine.client, probe) for probe in PROBES]
    real = recorded.read("answers")["answers"]
    assert [comparable(one) for one in answers] == [comparable(one) for one in real]


async def test_metrics(engine: Engine) -> None:
    async with engine.client.get("/metrics") as answer:
        simulated = recorded.families(await answer.text())
    real = {family["name"]: family for family in recorded.read("metrics")["families"]}
    assert len(simulated) > 20
    for family in simulated:
        same = real[family["name"]]
        if family["name"] == "vllm:cache_config_info":
            assert set(family["labels"]) < set(same["labels"])
        else:
            assert family == same


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what must agree: everything of completions and refusals, the form of what depends on the tokenizer."""
    content = answer["answer"]
    kind = answer["type"].partition(";")[0]
    head = {**answer, "type": kind}
    if answer["name"] in _OWN_WORDS:
        error = content["error"]
        content = {"error": {**error, "message": "", "param": error["param"].partition(".")[0][:5]}}
    elif answer["status"] == 200 and (
        answer["path"].endswith("chat/completions") or answer["name"] in _OWN_TOKENS
    ):
        content = form(content)
    return {**head, "answer": merged(content)}


def merged(content: Any) -> Any:
    """Return a stream without events that say the same as the one before: a busy machine sends two tokens in one."""
    if not isinstance(content, list):
        return content
    return [event for event, before in zip(content, [None, *content], strict=False) if event != before]


def form(content: Any) -> Any:
    """Return the names and kinds of values."""
    match content:
        case dict():
            return {key: form(value) for key, value in content.items()}
        case list():
            return (
                [form(one) for one in content[:1]]
                if content and isinstance(content[0], int)
                else [*map(form, content)]
            )
        case _:
            return (
                content
                if isinstance(content, bool) or content in (None, "length", "[DONE]")
                else type(content).__name__
            )
