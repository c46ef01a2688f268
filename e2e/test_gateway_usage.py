"""What a real Envoy counts of every API's answers: tokens, errors and the time to the first token, by key and by arm."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cacheroute.domain.table import TableGroup
from cacheroute.domain.telemetry import ARM_TTFT, TTFT_BUCKETS
from cacheroute.prom.exposition import DROPPED, PROXY, read_counters
from cacheroute.proxy.tuning import Tuning
from e2e.gateway_rig import DEADLINE, Rig, gateway, table

pytestmark = pytest.mark.envoy

PLAN = "inference/llama"
CHAT = {"prompt_tokens": 1200, "prompt_tokens_details": {"cached_tokens": 1100}}
RESPONSES = {"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 1100}}
MESSAGES = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1100}
BLIND_MESSAGES = {"input_tokens": 1200}
"""Of a vLLM that does not report what was cached."""


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(1) as made:
        await made.publish(table((made.backends[0].endpoint(0),), (TableGroup((0,), (), ("alice",)),)))
        yield made


def document(usage: object) -> dict[str, Any]:
    """Say one JSON document."""
    return {"text": json.dumps({"choices": [], "usage": usage})}


def events(*said: object) -> dict[str, Any]:
    """Say a stream."""
    return {"events": said}


ANSWERS = {
    "chat": document(CHAT),
    "embeddings": document({"prompt_tokens": 1200, "total_tokens": 1200}),
    "responses": document(RESPONSES),
    "messages": document(MESSAGES),
    "messages of an engine that does not report the cache": document(BLIND_MESSAGES),
    "chat stream": events({"choices": [], "usage": None}, {"choices": []}, {"choices": [], "usage": CHAT}),
    "chat stream with continuous usage": events({"usage": {**CHAT, "prompt_tokens": 1200}}, {"usage": CHAT}),
    "responses stream": events(
        {"type": "response.created", "response": {"usage": None}},
        {"type": "response.output_text.delta", "delta": "x"},
        {"type": "response.completed", "response": {"usage": RESPONSES}},
    ),
    "messages stream": events(
        {"type": "message_start", "message": {"usage": {**MESSAGES, "output_tokens": 0}}},
        {"type": "message_delta", "usage": {"output_tokens": 7}},
    ),
    "messages stream of vLLM": events(
        {"type": "message_start", "message": {"usage": {**BLIND_MESSAGES, "output_tokens": 0}}},
        {"type": "message_delta", "delta": {}, "usage": {**MESSAGES, "output_tokens": 7}},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_tokens_are_counted_for_every_api(rig: Rig, name: str) -> None:
    await rig.ask("alice", say=ANSWERS[name])
    await rig.counted_requests(1)
    cached = 0 if name in ("embeddings", "messages of an engine that does not report the cache") else 1100
    by_key = [await rig.counted(f"envoy_cacheroute_{kind}_tokens") for kind in ("prompt", "cached")]
    by_arm = [
        await rig.counted_by_arm(f"envoy_cacheroute_arm_{kind}_tokens") for kind in ("prompt", "cached")
    ]
    assert [sum(one.values()) for one in by_key] == [1200, cached]
    assert [sum(one.values()) for one in by_arm] == [1200, cached]
    assert set(by_key[0]) == {(PLAN, "alice", "planned")}


HOSTILE = {
    "negative": document({"prompt_tokens": -5, "prompt_tokens_details": {"cached_tokens": -1e300}}),
    "huge": document({"prompt_tokens": 1e19, "prompt_tokens_details": {"cached_tokens": 10**400}}),
    "just too many": document({"prompt_tokens": 10_000_000, "input_tokens": 2**63}),
    "texts": document({"prompt_tokens": "many", "prompt_tokens_details": "x", "input_tokens": "-3"}),
    "other types": document(
        {"prompt_tokens": None, "input_tokens": [1], "input_tokens_details": {"cached_tokens": {}}}
    ),
    "no object": {"text": "[1, 2, 3]"},
    "a number": {"text": "7"},
    "null": {"text": "null"},
    "no usage object": {"text": '{"usage": 7}'},
    "no JSON": {"text": '{"usage": {"prompt_tokens": 5'},
    "not a number": {"text": '{"usage": {"prompt_tokens": NaN}}'},
    "infinite": {"text": '{"usage": {"prompt_tokens": "inf", "input_tokens": "nan"}}'},
    "deep": {"text": "[" * 20_000},
    "empty": {"text": ""},
    "compressed": {**document(CHAT), "gzip": True},
    "another type": {**document(CHAT), "type": "text/plain"},
    "events that are none": events(7, "x", None, [], {"usage": {"prompt_tokens": -3}}, {"usage": 5}),
    "texts that look so": document('{"usage": {"prompt_tokens": 5}}'),
    "a member's value": {"text": '{"a": "usage", "b": {"prompt_tokens": 5}}'},
    "an endless one": {"text": '{"usage": {"x": "' + "y" * 100_000 + '", "prompt_tokens": 5'},
    "open braces": {"text": '{"usage": ' + "{" * 50_000},
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_is_no_number_of_tokens_is_not_counted(rig: Rig, name: str) -> None:
    await rig.ask("alice", say=HOSTILE[name])
    await rig.ask("alice", say=document({"prompt_tokens": 3}))
    await rig.counted_requests(2)
    assert await rig.counted("envoy_cacheroute_prompt_tokens") == {(PLAN, "alice", "planned"): 3}
    assert await rig.counted("envoy_cacheroute_cached_tokens") == {}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 40])
async def test_a_usage_is_found_wherever_the_answer_is_cut_into_pieces(rig: Rig, size: int) -> None:
    text = "data: " + json.dumps({"a": 'a \\"usage\\" {', "usage": CHAT, "b": {"usage": None}}) + "\n\n"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    await rig.ask("alice", say={"pieces": pieces, "pause": 0.002})
    await rig.counted_requests(1)
    assert sum((await rig.counted("envoy_cacheroute_prompt_tokens")).values()) == 1200
    assert sum((await rig.counted("envoy_cacheroute_cached_tokens")).values()) == 1100


THE_WORD = {
    "token of a stream": events(
        {"choices": [{"delta": {"content": "usage"}}]}, {"choices": [], "usage": CHAT}
    ),
    "completion": {"text": json.dumps({"choices": [{"text": "usage"}], "usage": CHAT})},
    "log probabilities": {"text": json.dumps({"tokens": ["usage", "x"], "usage": CHAT})},
    "at the end of a piece": {
        "pieces": ['data: {"text": "usage"', '}\n\ndata: {"usage" ', f": {json.dumps(CHAT)}}}"]
    },
}


@pytest.mark.parametrize("name", THE_WORD)
async def test_an_answer_that_is_the_word_usage_hides_no_tokens(rig: Rig, name: str) -> None:
    await rig.ask("alice", say={"pause": 0.05, **THE_WORD[name]})
    await rig.counted_requests(1)
    assert await rig.counted("envoy_cacheroute_prompt_tokens") == {(PLAN, "alice", "planned"): 1200}


async def test_numbers_as_texts_and_both_spellings_count_once(rig: Rig) -> None:
    await rig.ask("alice", say=document({"prompt_tokens": "12"}))
    await rig.ask("alice", say=document({**CHAT, "input_tokens": 1200, "cache_read_input_tokens": 1100}))
    await rig.counted_requests(2)
    assert sum((await rig.counted("envoy_cacheroute_prompt_tokens")).values()) == 1212
    assert sum((await rig.counted("envoy_cacheroute_cached_tokens")).values()) == 1100


async def test_errors_are_those_of_the_engine_and_of_broken_answers(rig: Rig) -> None:
    await rig.ask("alice", say={"text": "{}", "status": 500})
    await rig.ask("alice", say={"text": "{}", "status": 429})
    await rig.ask("alice", say=document(CHAT))
    with pytest.raises(aiohttp.ClientError):
        await rig.ask("alice", say={**events({"choices": []}), "break": True})
    await rig.post({"model": "nobody's"})
    requests = await rig.counted_requests(4)
    assert sum(requests.values()) == 4
    assert sum((await rig.counted_by_arm("envoy_cacheroute_arm_requests")).values()) == 4
    assert sum((await rig.counted_by_arm("envoy_cacheroute_arm_errors")).values()) == 2


async def test_a_stream_that_breaks_before_its_first_byte_is_an_error_and_has_no_time_to_it(
    rig: Rig, capfd: pytest.CaptureFixture[str]
) -> None:
    await rig.ask("alice", say=events({"choices": []}))
    with pytest.raises(aiohttp.ClientError):
        await rig.ask("alice", say={"events": [], "break": True})
    await rig.counted_requests(2)
    assert sum((await rig.counted_by_arm("envoy_cacheroute_arm_errors")).values()) == 1
    assert (await ttft(rig, 1))[-1][1] == 1
    assert "non-number" not in capfd.readouterr().err


async def test_a_request_without_a_destination_is_an_error(rig: Rig) -> None:
    await rig.publish(table(()))
    await rig.ask("alice")
    await rig.counted_requests(1)
    assert sum((await rig.counted_by_arm("envoy_cacheroute_arm_errors")).values()) == 1


async def test_the_time_to_the_first_token_is_that_of_the_body_not_of_the_headers(rig: Rig) -> None:
    await asyncio.gather(
        *(rig.ask("alice", say={"events": [{"choices": []}] * 2, "pause": 0.6}) for _ in range(3)),
        rig.ask("alice", say=document(CHAT)),
    )
    buckets = await ttft(rig, 3)
    assert [bound for bound, _ in buckets] == [*map(float, TTFT_BUCKETS), float("inf")]
    counts = dict(buckets)
    assert (counts[400], counts[1000], counts[float("inf")]) == (0, 3, 3)


async def ttft(rig: Rig, number: int) -> list[tuple[float, float]]:
    """Wait until so many times are counted, and return the buckets; Envoy merges its threads' every 5 s."""
    async with asyncio.timeout(DEADLINE):
        while True:
            text = await rig.page(rig.stats, "/stats/prometheus")
            buckets = [
                (float(sample.labels["le"]), sample.value)
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == f"envoy_{ARM_TTFT}_bucket"
            ]
            if buckets and buckets[-1][1] >= number:
                return buckets
            await asyncio.sleep(0.1)


async def test_a_flood_of_keys_leaves_known_keys_counted_and_is_told() -> None:
    async with gateway(1, tuning=Tuning(max_counters=30)) as rig:
        await rig.publish(table((rig.backends[0].endpoint(0),), (TableGroup((0,), (), ("alice",)),)))
        await rig.ask("alice")
        await rig.counted_requests(1)
        for number in range(40):
            await rig.ask(f"flood-{number}")
        await rig.ask("alice")
        await by_arm(rig, 42)
        counted = await rig.counted("envoy_cacheroute_requests")
        assert counted[PLAN, "alice", "planned"] == 2
        assert len(counted) < 20
        page = read_counters(await rig.page(rig.stats, "/stats/prometheus"))
        assert page[PROXY].figures[DROPPED] > 0
        assert page[PLAN].figures["requests", "plan"] == 2


async def by_arm(rig: Rig, number: int) -> None:
    """Wait until so many requests are counted by arm."""
    async with asyncio.timeout(DEADLINE):
        while sum((await rig.counted_by_arm("envoy_cacheroute_arm_requests")).values()) < number:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
