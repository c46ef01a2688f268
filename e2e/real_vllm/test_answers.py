"""What real vLLM answers, kept for the default suite."""

from typing import Any

import aiohttp
import pytest

from e2e.real_vllm import environment, recorded
from e2e.real_vllm.engine import RealEngine, start
from e2e.real_vllm.probes import EMBEDDINGS, OTHER_PROBES, PROBES, Probe, ask


@pytest.mark.parametrize(("name", "probes"), [("answers", PROBES), ("other-answers", OTHER_PROBES)])
async def test_answers_are_those_that_were_recorded(
    engines: tuple[RealEngine, RealEngine], name: str, probes: tuple[Probe, ...]
) -> None:
    await _compare(engines[0], name, probes)


async def test_embeddings_tell_their_prompt_tokens(engines: tuple[RealEngine, RealEngine]) -> None:
    engine = RealEngine("embeddings", engines[0].folder, ("--runner", "pooling", "--convert", "embed"))
    try:
        start(engine)
        await _compare(engine, "embeddings", EMBEDDINGS)
    finally:
        engine.kill()


async def test_metrics_are_those_that_were_recorded(engines: tuple[RealEngine, RealEngine]) -> None:
    async with (
        aiohttp.ClientSession(engines[0].url, trust_env=False) as client,
        client.get("/metrics") as answer,
    ):
        found = recorded.families(await answer.text())
    if recorded.updating():
        recorded.write("metrics", {"vllm": environment.version(), "families": found})
    assert found == recorded.read("metrics")["families"]


async def _compare(engine: RealEngine, name: str, probes: tuple[Probe, ...]) -> None:
    async with aiohttp.ClientSession(engine.url, trust_env=False) as client:
        answers: list[Any] = [await ask(client, probe) for probe in probes]
    if recorded.updating():
        recorded.write(name, {"vllm": environment.version(), "answers": answers})
    for answer, before in zip(answers, recorded.read(name)["answers"], strict=True):
        assert answer == before
