"""The simulated engine finds in its cache what real vLLM found, request by request (recorded by `make e2e-vllm`)."""

from typing import Any

import pytest

from cacheroute.engine.api import CompletionRequest
from cacheroute.engine.jobs import completion_job
from cacheroute.engine.settings import BatchSettings, CacheSettings, EngineSettings
from cacheroute.engine.tokens import text_tokens
from cacheroute.simulation.engine_model.model import EngineModel
from e2e.real_vllm import recorded
from e2e.real_vllm.traffic import Turn


def test_hits_of_every_request() -> None:
    recording = recorded.read("hits")
    expected = [line.pop("cached") for line in recording["requests"]]
    settings = EngineSettings(
        cache=CacheSettings(recording["block_size"], recording["blocks"]),
        batch=BatchSettings(max_model_len=recording["max_model_len"]),
    )
    assert hits(settings, [Turn(**line) for line in recording["requests"]]) == expected


@pytest.mark.parametrize("blocks", [99, 101])
def test_the_recording_tells_cache_sizes_apart(blocks: int) -> None:
    recording = recorded.read("hits")
    expected = [line.pop("cached") for line in recording["requests"]]
    settings = EngineSettings(
        cache=CacheSettings(recording["block_size"], blocks), batch=BatchSettings(max_model_len=2048)
    )
    assert hits(settings, [Turn(**line) for line in recording["requests"]]) != expected


def hits(settings: EngineSettings, requests: list[Turn]) -> list[int]:
    """Return the cached tokens of each request, one sent after the other."""
    model = EngineModel(settings.limits, settings.timing)
    history: list[list[int]] = []
    cached, now = [], 0.0
    for turn in requests:
        prompt = turn.prompt(history)
        body: dict[str, Any] = {"prompt": prompt, "max_tokens": turn.max_tokens, "ignore_eos": True}
        job = completion_job(CompletionRequest.model_validate(body), settings)
        live = model.submit(job.work, now)
        while live.finish_reason is None:
            now = model.next_event()
            model.advance(now)
        cached.append(live.cached_tokens)
        history.append([*prompt, *text_tokens(job.text).tolist()])
    return cached
