"""Two real engines behind the real gateway: key affinity gives prefix hits, and everybody counts the same."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from cacheroute.domain.table import TableGroup
from e2e.gateway_rig import Answer, Rig, gateway, table
from e2e.real_vllm.engine import BLOCK_SIZE, MODEL, RealEngine
from e2e.real_vllm.replay import totals
from e2e.real_vllm.traffic import tokens

TENANTS = tuple(f"tenant-{number}" for number in range(8))
PREFIX = 20 * BLOCK_SIZE
"""Eight prefixes of 20 blocks do not fit into one cache of 99 blocks, four do."""
ROUNDS = 6
PLAN = "inference/llama"


@dataclass(frozen=True, slots=True)
class Served:
    """What one arm found in the caches.

    Attributes:
        prompt: tokens by key, from the answers.
        cached: tokens by key, from the answers.
        engines: cached tokens as the engines' own metrics have them.
    """

    prompt: Mapping[str, int]
    cached: Mapping[str, int]
    engines: float


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(0) as made:
        yield made


def groups() -> tuple[TableGroup, ...]:
    """Plan every other tenant to each engine."""
    return (TableGroup((0,), (1,), TENANTS[::2]), TableGroup((1,), (0,), TENANTS[1::2]))


@pytest.mark.timeout(400, func_only=True)
async def test_planned_tenants_find_their_prefixes_and_flat_ones_do_not(
    rig: Rig, engines: tuple[RealEngine, RealEngine]
) -> None:
    seated = tuple(one.endpoint(seat) for seat, one in enumerate(engines))
    await rig.publish(table(seated, models=(MODEL,)))
    flat = await _arm(rig, engines)
    for each in engines:
        each.reset_cache()
    await rig.publish(table(seated, groups(), models=(MODEL,)))
    planned = await _arm(rig, engines)
    total = sum(planned.prompt.values())
    print(f"cached of {total} prompt tokens: {_sum(planned)} planned, {_sum(flat)} flat")
    assert planned.cached == dict.fromkeys(TENANTS, (ROUNDS - 1) * PREFIX)
    assert _sum(flat) < 0.7 * _sum(planned)
    for arm, decision in ((flat, "cold"), (planned, "planned")):
        assert arm.engines == _sum(arm)
        assert await _counted(rig, "prompt", decision) == arm.prompt
        assert await _counted(rig, "cached", decision) == arm.cached


async def _arm(rig: Rig, engines: Sequence[RealEngine]) -> Served:
    """Send the same requests each time: in every round one of each tenant, every other one streamed."""
    prompt: Counter[str] = Counter()
    cached: Counter[str] = Counter()
    before = await _hits(engines)
    for turn in range(ROUNDS):
        for number, tenant in enumerate(TENANTS):
            ids = [*tokens(number, PREFIX), *tokens(1000 * turn + number + 100, 10)]
            answer = await _ask(rig, tenant, ids, stream=bool((turn + number) % 2))
            assert answer.status == 200, answer.text
            usage = _usage(answer)
            prompt[tenant] += usage["prompt_tokens"]
            cached[tenant] += usage["prompt_tokens_details"]["cached_tokens"]
    return Served(prompt, cached, await _hits(engines) - before)


async def _ask(rig: Rig, tenant: str, ids: list[int], *, stream: bool) -> Answer:
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    body = {"model": MODEL, "user": tenant, "prompt": ids, "max_tokens": 4, "ignore_eos": True}
    return await rig.post({**body, **options})


def _usage(answer: Answer) -> Any:
    """Return the usage of an answer in one piece, or that of the last event of a stream."""
    if not answer.text.startswith("data: "):
        return json.loads(answer.text)["usage"]
    *_, last, done, rest = answer.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return json.loads(last.removeprefix("data: "))["usage"]


async def _hits(engines: Sequence[RealEngine]) -> float:
    """Return the cached tokens that the engines have counted since they started."""
    found = 0.0
    for one in engines:
        async with aiohttp.ClientSession(one.url, trust_env=False) as client:
            found += (await totals(client))["vllm:prefix_cache_hits_total"]
    return found


async def _counted(rig: Rig, what: str, decision: str) -> dict[str, float]:
    """Return the gateway's own count of tokens by key, 0 too, once it has counted every request."""
    await rig.counted_requests(2 * ROUNDS * len(TENANTS))
    counters = await rig.counted(f"envoy_cacheroute_{what}_tokens")
    return {tenant: counters.get((PLAN, tenant, decision), 0.0) for tenant in TENANTS}


def _sum(arm: Served) -> int:
    return sum(arm.cached.values())
