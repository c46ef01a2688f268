"""The simulated engine against the real one: the same requests, block size and cache size, the same hits."""

import dataclasses

import aiohttp
import pytest

from e2e.real_vllm import environment, recorded
from e2e.real_vllm.engine import BLOCK_SIZE, BLOCKS, MAX_MODEL_LEN, MODEL, RealEngine
from e2e.real_vllm.replay import real_ids, replay, simulated_ids
from e2e.real_vllm.traffic import turns
from e2e.test_engine import serving

SIMULATED = (
    *("--model", MODEL, "--speed", "1000", "--max-model-len", str(MAX_MODEL_LEN)),
    *("--block-size", str(BLOCK_SIZE), "--num-gpu-blocks-override", str(BLOCKS)),
)
RECORDED_SEED = 1


@pytest.mark.timeout(400, func_only=True)
@pytest.mark.parametrize("seed", [RECORDED_SEED, 2, 3])
async def test_every_request_finds_what_it_finds_in_real_vllm(
    engines: tuple[RealEngine, RealEngine], seed: int
) -> None:
    requests = turns(seed, 200)
    async with aiohttp.ClientSession(engines[0].url, trust_env=False) as client:
        real = await replay(client, requests, real_ids)
    async with serving(*SIMULATED) as simulated:
        same = await replay(simulated.client, requests, simulated_ids)
    print(f"seed {seed}: {sum(real.cached_tokens)} of {sum(real.prompt_tokens)} prompt tokens cached")
    assert real == same
    assert 0.1 < sum(real.cached_tokens) / sum(real.prompt_tokens) < 0.9
    assert real.metrics["vllm:prefix_cache_hits_total"] == sum(real.cached_tokens)
    if seed == RECORDED_SEED and recorded.updating():
        lines = [
            {**dataclasses.asdict(turn), "cached": cached}
            for turn, cached in zip(requests, real.cached_tokens, strict=True)
        ]
        sizes = {"block_size": BLOCK_SIZE, "blocks": BLOCKS, "max_model_len": MAX_MODEL_LEN}
        recorded.write("hits", {"vllm": environment.version(), **sizes, "requests": lines})
