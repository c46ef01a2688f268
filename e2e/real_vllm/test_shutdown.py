"""How real vLLM ends behind the gateway: drained, killed, and by SIGTERM without notice."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import aiohttp
import orjson
import pytest

from cacheroute.domain.table import TableGroup
from e2e.gateway_rig import RESERVED, Answer, Rig, gateway, table, until
from e2e.real_vllm.conftest import DRAIN_SECONDS
from e2e.real_vllm.engine import MODEL, RealEngine

GROUPS = (TableGroup((0,), (1,), ("alice",)), TableGroup((1,), (0,), ("bob",)))
"""Alice on the engine that ends as vLLM does by default, Bob on the one that lets requests finish."""
LONG = {"max_tokens": 1500, "ignore_eos": True, "stream": True}
pytestmark = pytest.mark.timeout(500, func_only=True)


@contextlib.asynccontextmanager
async def asking(rig: Rig, answers: list[Answer], *users: str) -> AsyncIterator[list[str]]:
    """Let clients ask all the time; at the end they have had their answers. Yields whose answer broke after its headers."""
    stop = asyncio.Event()
    broken: list[str] = []

    async def ask(user: str) -> None:
        while not stop.is_set():
            try:
                answer = await rig.ask(user, model=MODEL, prompt=[7] * 40, max_tokens=5, ignore_eos=True)
                answers.append(answer)
            except aiohttp.ClientPayloadError:
                broken.append(user)

    clients = [asyncio.create_task(ask(user)) for user in users]
    await until(lambda: len(answers) > len(users), "traffic before")
    yield broken
    stop.set()
    await asyncio.gather(*clients)


async def begin_streams(rig: Rig, user: str, count: int) -> list["asyncio.Task[str]"]:
    """Begin long streams; returns what reads each of them to its end."""
    url = f"http://{rig.listen.host}:{rig.listen.port}/v1/completions"
    readers = []
    for number in range(count):
        body = {"model": MODEL, "user": user, "prompt": [number + 10] * 50, **LONG}
        answer = await rig.client.post(url, json=body)
        assert (answer.status, answer.headers[f"{RESERVED}decision"]) == (200, "planned")
        await answer.content.readany()
        readers.append(asyncio.create_task(_rest(answer)))
    return readers


async def _rest(answer: aiohttp.ClientResponse) -> str:
    async with answer:
        return (await answer.content.read()).decode()


def failures(answers: Sequence[Answer]) -> Counter[str]:
    """Count what is no complete answer."""
    found: Counter[str] = Counter()
    for answer in answers:
        reason = orjson.loads(answer.text)["choices"][0]["finish_reason"] if answer.status == 200 else None
        if reason != "length":
            found[f"{answer.status} {reason} {answer.destination} {answer.text[:200]}"] += 1
    return found


def finish_reason(text: str) -> str | None:
    """Return how a stream ended; None where it was cut."""
    *_, last, done, _ = ["", *text.split("\n\n")]
    if done != "data: [DONE]":
        return None
    choices = orjson.loads(last.removeprefix("data: ")).get("choices", [{}])
    return str(choices[0].get("finish_reason"))


@pytest.fixture
async def rig(engines: tuple[RealEngine, RealEngine]) -> AsyncIterator[Rig]:
    async with gateway(0) as made:
        seated = tuple(one.endpoint(seat) for seat, one in enumerate(engines))
        await made.publish(table(seated, GROUPS, models=(MODEL,)))
        yield made


async def test_a_drained_engine_ends_without_a_failed_request_or_a_cut_stream(
    rig: Rig, engines: tuple[RealEngine, RealEngine]
) -> None:
    stays, goes = engines
    answers: list[Answer] = []
    async with asking(rig, answers, "alice", "bob") as broken:
        streams = await begin_streams(rig, "bob", 4)
        await rig.publish(
            table((stays.endpoint(0), goes.endpoint(draining=True)), GROUPS[:1], models=(MODEL,))
        )
        goes.terminate()
        texts = await asyncio.gather(*streams)
        ended = await asyncio.to_thread(goes.wait, DRAIN_SECONDS + 60)
    print(f"{len(answers)} answers, 4 streams; the process ended {ended:.1f} s after SIGTERM")
    assert failures(answers) == Counter()
    assert broken == []
    assert [finish_reason(text) for text in texts] == ["length"] * 4


async def test_a_killed_engine_fails_no_request_that_was_not_answered(
    rig: Rig, engines: tuple[RealEngine, RealEngine]
) -> None:
    """What it had begun to answer breaks: vLLM sends headers and body apart, and the kill may fall between them."""
    answers: list[Answer] = []
    async with asking(rig, answers, "alice", "alice", "bob", "bob") as broken:
        streams = await begin_streams(rig, "alice", 2)
        kept = await begin_streams(rig, "bob", 2)
        engines[0].kill()
        killed = len(answers)
        cut = await asyncio.gather(*streams, return_exceptions=True)
        whole = await asyncio.gather(*kept)
        await until(lambda: len(answers) > killed + 20, "traffic after")
    print(f"{len(answers)} answers, {killed} before the kill; broken after their headers: {broken}")
    assert failures(answers) == Counter()
    assert broken in ([], ["alice"], ["alice"] * 2), (
        "at most what each client of the killed engine waited for"
    )
    assert all(isinstance(text, BaseException) or finish_reason(text) is None for text in cut)
    assert [finish_reason(text) for text in whole] == ["length"] * 2


async def test_sigterm_without_a_drain_loses_what_runs_by_default(
    rig: Rig, engines: tuple[RealEngine, RealEngine]
) -> None:
    """What the simulated engine does too, and why destinations are drained first (preStop)."""
    (stream,) = await begin_streams(rig, "alice", 1)
    engines[0].terminate()
    try:
        *_, last, done, _ = (await stream).split("\n\n")
        ended = await asyncio.to_thread(engines[0].wait, 60)
    finally:
        engines[0].kill()
    print(f"the stream ended with {last[:300]}; the process {ended:.1f} s after SIGTERM")
    assert done == "data: [DONE]"
    event = orjson.loads(last.removeprefix("data: "))
    code = event["error"]["code"] if "error" in event else None
    assert code == 500 or event["choices"][0]["finish_reason"] == "abort"  # whichever its processes do first
