"""The same requests to a real and to a simulated engine, and what each of them found in its cache."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from cacheroute.engine.tokens import text_tokens
from e2e.real_vllm.engine import MODEL
from e2e.real_vllm.traffic import Turn

Answer = Mapping[str, Any]
COMPARED = (
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:prompt_tokens_total",
    "vllm:prompt_tokens_cached_total",
    "vllm:generation_tokens_total",
    "vllm:request_success_total",
    "vllm:num_preemptions_total",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an engine said of a run.

    Attributes:
        prompt_tokens: of each request.
        cached_tokens: of each request.
        metrics: by how much each of `COMPARED` rose.
    """

    prompt_tokens: tuple[int, ...]
    cached_tokens: tuple[int, ...]
    metrics: Mapping[str, float]


async def replay(
    client: aiohttp.ClientSession, turns: Sequence[Turn], answer_ids: Callable[[Answer], list[int]]
) -> Outcome:
    """Send the turns one after the other; `answer_ids` takes the generated tokens out of an answer."""
    history: list[list[int]] = []
    prompts, cached = [], []
    before = await totals(client)
    for turn in turns:
        prompt = turn.prompt(history)
        answer = await _complete(client, prompt, turn.max_tokens)
        history.append(prompt + answer_ids(answer))
        prompts.append(answer["usage"]["prompt_tokens"])
        cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
    after = await _settled(client, before, len(turns))
    return Outcome(tuple(prompts), tuple(cached), {name: after[name] - before[name] for name in COMPARED})


def real_ids(answer: Answer) -> list[int]:
    """Return the tokens that vLLM generated."""
    return list(answer["choices"][0]["token_ids"])


def simulated_ids(answer: Answer) -> list[int]:
    """Return the tokens that the simulated engine generated: it cuts text into four bytes each."""
    return [int(token) for token in text_tokens(answer["choices"][0]["text"])]


async def totals(client: aiohttp.ClientSession) -> dict[str, float]:
    """Return the samples of a scrape, summed over labels."""
    async with client.get("/metrics") as answer:
        text = await answer.text()
    found = dict.fromkeys(COMPARED, 0.0)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


async def _complete(client: aiohttp.ClientSession, prompt: Sequence[int], max_tokens: int) -> Answer:
    # Greedy sampling, or vLLM would answer the same prompt differently each time and the simulated engine would not.
    body = {"model": MODEL, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
    async with client.post(
        "/v1/completions", json={**body, "ignore_eos": True, "return_token_ids": True}
    ) as answer:
        assert answer.status == 200, await answer.text()
        return dict(await answer.json())


async def _settled(
    client: aiohttp.ClientSession, before: Mapping[str, float], count: int
) -> dict[str, float]:
    """Return the totals once every request is counted, which is after its answer."""
    name = "vllm:request_success_total"
    async with asyncio.timeout(20):
        while (after := await totals(client))[name] < before[name] + count:  # noqa: ASYNC110 - the other side is a process
            await asyncio.sleep(0.05)
    return after
