"""How destinations die, on a real Envoy: who is answered, by whom, and which streams break."""

import asyncio
import contextlib
import json
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import aiohttp
import pytest

from cacheroute.domain.failover import FailoverSpec, HealthCheckSpec, LimitsSpec, RetryRule
from cacheroute.domain.table import TableGroup
from e2e.failover_backend import ANSWER, HEADERS
from e2e.failover_rig import FarNode, destinations, far_node, start_engine
from e2e.gateway_rig import DEADLINE, Answer, Backend, Rig, drained, table, until

pytestmark = pytest.mark.envoy

GROUPS = (TableGroup((0,), (1,), ("alice",)), TableGroup((1,), (0,), ("bob",)))
QUICK = HealthCheckSpec(interval_milliseconds=100, timeout_milliseconds=200, unhealthy_threshold=2)
CHECKED = FailoverSpec(health_check=QUICK)
UNCHECKED = FailoverSpec(health_check=HealthCheckSpec(interval_milliseconds=0))


@dataclass
class Stream:
    """A streamed answer on its way.

    Attributes:
        destination: who sends it.
        events: what came.
        broken: whether it ended before its end.
    """

    destination: str | None = None
    events: list[str] = field(default_factory=list)
    broken: bool = False

    @property
    def whole(self) -> bool:
        """Whether its last event came."""
        return bool(self.events) and self.events[-1] == "data: [DONE]"


async def receive(rig: Rig, stream: Stream, user: str, events: int, pause: float) -> None:
    """Receive a stream until its end, or until it breaks."""
    url = f"http://{rig.listen.host}:{rig.listen.port}/v1/completions"
    body = {"model": "llama", "user": user, "events": events, "pause": pause}
    async with rig.client.post(url, json=body) as answer:
        stream.destination = answer.headers["x-cacheroute-destination"]
        try:
            async for line in answer.content:
                if line.strip():
                    stream.events.append(line.decode().strip())
        except aiohttp.ClientError:
            stream.broken = True


@contextlib.asynccontextmanager
async def streaming(
    rig: Rig, *users: str, events: int = 30, pause: float = 0.1
) -> AsyncIterator[list[Stream]]:
    """Open a stream for each user, give them once all have begun, and receive them to their ends."""
    streams = [Stream() for _ in users]
    async with asyncio.TaskGroup() as tasks:
        for stream, user in zip(streams, users, strict=True):
            tasks.create_task(receive(rig, stream, user, events, pause))
        await until(lambda: all(stream.events for stream in streams), "all streams have begun")
        yield streams


async def unhealthy(rig: Rig, number: int) -> None:
    """Wait until Envoy leaves so many destinations out."""
    async with asyncio.timeout(DEADLINE):
        while await rig.stat("cluster.inference/llama.membership_healthy") != len(rig.backends) - number:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def serve(rig: Rig, failover: FailoverSpec, limits: LimitsSpec | None = None) -> None:
    """Seat all destinations, and wait until all take requests."""
    endpoints = tuple(backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
    await rig.publish(table(endpoints, GROUPS, failover=failover, limits=limits))
    await unhealthy(rig, 0)


async def tell(backend: Backend, what: str) -> None:
    """Send a destination a word, past the gateway."""
    async with aiohttp.ClientSession(trust_env=False) as client:
        await client.post(f"http://{backend.host}:{backend.port}/{what}")


def error_of(answer: Answer) -> tuple[int, str]:
    error = json.loads(answer.text)["error"]
    assert error["code"] == answer.status
    return answer.status, error["message"]


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with destinations(3) as made:
        yield made


async def keep_asking(rig: Rig, user: str, answers: list[Answer], stop: asyncio.Event) -> None:
    while not stop.is_set():
        async with asyncio.timeout(DEADLINE):
            answers.append(await rig.ask(user))


@pytest.mark.parametrize("how", [FarNode.vanish, FarNode.pull_the_cable])
@pytest.mark.parametrize("failover", [FailoverSpec(), UNCHECKED], ids=["checked", "unchecked"])
async def test_a_node_that_vanishes_fails_no_request(how: object, failover: FailoverSpec) -> None:
    assert callable(how)
    with far_node() as node:
        async with destinations(3, node) as rig:
            await serve(rig, failover)
            answers: list[Answer] = []
            stop = asyncio.Event()
            clients = [keep_asking(rig, user, answers, stop) for user in ("alice", "bob", "stranger") * 3]
            asking = asyncio.gather(*clients)
            await until(lambda: len(answers) > 50, "traffic before")
            how(node)
            await rig.answered_by("alice", "pod-1")
            gone = len(answers)
            await until(lambda: len(answers) > gone + 200, "traffic after")
            stop.set()
            await asking
    assert Counter(answer.status for answer in answers) == {200: len(answers)}


async def test_a_request_that_a_vanished_engine_computes_is_answered_by_its_standby() -> None:
    with far_node() as node:
        async with destinations(3, node) as rig:
            await serve(rig, UNCHECKED)
            asking = asyncio.create_task(rig.ask("alice", seconds=0.5))
            await until_busy(rig, 1)
            node.vanish()
            answer = await asyncio.wait_for(asking, DEADLINE)
    assert (answer.status, answer.destination, answer.decision) == (200, "pod-1", "standby")


async def until_busy(rig: Rig, requests: int) -> None:
    """Wait until so many requests are at destinations."""
    async with asyncio.timeout(DEADLINE):
        while await rig.stat("cluster.inference/llama.upstream_rq_active") < requests:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_only_the_streams_of_a_killed_destination_break(rig: Rig) -> None:
    await serve(rig, CHECKED)
    async with streaming(rig, *("alice", "bob") * 5) as streams:
        await rig.backends[0].kill()
        assert (await rig.ask("alice")).destination == "pod-1"
    assert [stream.broken for stream in streams] == [stream.destination == "pod-0" for stream in streams]
    assert all(stream.whole for stream in streams if stream.destination != "pod-0")


async def test_a_frozen_engine_gets_nothing_new_and_its_streams_live_on(rig: Rig) -> None:
    await serve(rig, CHECKED)
    async with streaming(rig, "alice", events=5) as (stream,):
        os.kill(rig.backends[0].process.pid, signal.SIGSTOP)
        await unhealthy(rig, 1)
        assert (await rig.ask("alice")).destination == "pod-1"
        os.kill(rig.backends[0].process.pid, signal.SIGCONT)
    assert stream.whole
    assert (await rig.answered_by("alice", "pod-0")).decision == "planned"


async def test_a_sick_engine_is_left_out_until_it_is_well_and_its_streams_live_on(rig: Rig) -> None:
    await serve(rig, CHECKED)
    async with streaming(rig, "alice") as (stream,):
        await tell(rig.backends[0], "sick")
        assert (await rig.answered_by("alice", "pod-1")).decision == "standby"
        await tell(rig.backends[0], "well")
        await rig.answered_by("alice", "pod-0")
    assert stream.whole


async def test_a_path_that_the_engine_does_not_know_shows_that_it_lives(rig: Rig) -> None:
    await serve(rig, FailoverSpec(health_check=HealthCheckSpec("/nothing", 100, 200, 1)))
    assert await rig.stat("cluster.inference/llama.membership_healthy") == 3


async def test_one_broken_connection_cuts_no_stream_and_the_next_check_takes_the_engine_back(
    rig: Rig,
) -> None:
    await serve(rig, CHECKED)
    async with streaming(rig, "alice") as (stream,):
        await tell(rig.backends[0], "break?after=0")
        assert (await rig.ask("alice")).destination == "pod-1"
        await rig.answered_by("alice", "pod-0")
    assert stream.whole


@pytest.mark.parametrize("after", [0, 9, len(HEADERS) - 2], ids=["nothing", "no status", "no end of headers"])
async def test_a_request_whose_answer_had_not_begun_is_answered_by_the_standby(rig: Rig, after: int) -> None:
    await serve(rig, UNCHECKED)
    await tell(rig.backends[0], f"break?after={after}&always=1")
    answer = await rig.ask("alice")
    assert (answer.status, answer.destination, answer.decision) == (200, "pod-1", "standby")


async def test_an_engine_that_dies_in_its_headers_is_told_in_the_openai_shape_where_nothing_is_tried_again(
    rig: Rig,
) -> None:
    await serve(rig, FailoverSpec(max_retries=0, health_check=UNCHECKED.health_check))
    await tell(rig.backends[0], f"break?after={len(HEADERS) - 2}")
    answer = await rig.ask("alice")
    assert answer.status in (502, 503)
    assert error_of(answer) == (answer.status, "The destination of this request failed before it answered.")


@pytest.mark.parametrize("after", [len(HEADERS), len(ANSWER) - 1], ids=["no body", "not its end"])
async def test_an_answer_that_had_begun_breaks_and_is_not_taken_for_a_whole_one(rig: Rig, after: int) -> None:
    """Envoy has sent the headers on, so it can neither try again nor answer with an error of its own."""
    await serve(rig, UNCHECKED)
    await tell(rig.backends[0], f"break?after={after}")
    with pytest.raises(aiohttp.ClientPayloadError):
        await rig.ask("alice")


async def test_a_draining_destination_ends_its_streams_and_gets_nothing_new(rig: Rig) -> None:
    await serve(rig, CHECKED)
    first, *rest = (backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
    async with streaming(rig, "alice") as (draining,):
        await rig.publish(table((drained(first), *rest), GROUPS, failover=CHECKED))
        assert (await rig.ask("alice")).destination == "pod-1"
    async with streaming(rig, "bob") as (removed,):
        await rig.publish(table((rest[1],), GROUPS, failover=CHECKED))
        assert (await rig.ask("bob")).destination == "pod-2"
    assert draining.whole
    assert removed.whole


async def test_an_engine_that_is_told_to_end_finishes_its_stream_through_the_gateway() -> None:
    async with destinations(0) as rig:
        for name in ("pod-0", "pod-1"):
            await start_engine(rig, name, "--served-model-name", "llama", "--shutdown-timeout", "15")
        await serve(rig, CHECKED)
        first, second = (backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
        asking = asyncio.create_task(
            rig.ask("alice", prompt="a", max_tokens=100, ignore_eos=True, stream=True)
        )
        await until_busy(rig, 1)
        await rig.publish(table((drained(first), second), GROUPS, failover=CHECKED))
        rig.backends[0].process.terminate()
        later = await rig.ask("alice", prompt="b", max_tokens=1)
        answer = await asyncio.wait_for(asking, DEADLINE)
    assert (later.status, later.destination) == (200, "pod-1")
    assert answer.destination == "pod-0"
    assert '"finish_reason":"length"' in answer.text.replace(" ", "")
    assert answer.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("failover", "status"),
    [
        (FailoverSpec(retry=RetryRule.UNANSWERED), 200),
        (FailoverSpec(retry=RetryRule.NOT_STARTED), 503),
        (FailoverSpec(max_retries=0), 503),
    ],
    ids=["unanswered", "not started", "none"],
)
async def test_the_rule_says_whether_a_request_that_an_engine_had_is_tried_again(
    rig: Rig, failover: FailoverSpec, status: int
) -> None:
    await serve(rig, failover)
    asking = asyncio.create_task(rig.ask("alice", seconds=1))
    await until_busy(rig, 1)
    await rig.backends[0].kill()
    answer = await asking
    assert (answer.status, answer.destination) == (status, "pod-1" if status == 200 else "pod-0")
    if status == 503:
        assert error_of(answer) == (503, "The destination of this request failed before it answered.")


async def test_a_changed_rule_cuts_no_stream_and_holds_for_the_next_request(rig: Rig) -> None:
    """The rule is the cluster's, and Envoy replaces a cluster that changes by a new one."""
    await serve(rig, UNCHECKED)
    async with streaming(rig, "alice", "bob") as streams:
        await serve(rig, replace(UNCHECKED, max_retries=0))
        await tell(rig.backends[0], "break?after=0")
        assert (await rig.ask("alice")).status == 503
    assert all(stream.whole for stream in streams)


@pytest.mark.parametrize("retry", RetryRule)
async def test_a_request_that_reached_no_engine_is_tried_again_by_each_rule(
    rig: Rig, retry: RetryRule
) -> None:
    await serve(rig, FailoverSpec(retry=retry, health_check=UNCHECKED.health_check))
    await rig.backends[0].kill()
    async with asyncio.timeout(DEADLINE):
        while await rig.stat("cluster.inference/llama.upstream_cx_active"):  # noqa: ASYNC110  left from before
            await asyncio.sleep(0.01)
    answer = await rig.ask("alice")
    assert (answer.status, answer.destination) == (200, "pod-1")


async def test_a_limit_answers_in_the_openai_shape_and_says_what_was_decided(rig: Rig) -> None:
    await serve(rig, CHECKED, LimitsSpec(max_requests=1))
    async with streaming(rig, "alice") as (stream,):
        refused = await rig.ask("alice")
    assert stream.whole
    assert error_of(refused) == (
        503,
        "This gateway has as many requests of this model in progress as it may. Try again shortly.",
    )
    assert refused.headers["x-cacheroute-plan"] == "version-of-llama"
    assert (await rig.ask("alice")).status == 200


async def test_with_a_slow_start_a_key_gets_to_its_only_destination_at_once(rig: Rig) -> None:
    await serve(rig, FailoverSpec(slow_start_seconds=900, health_check=QUICK))
    answers = [await rig.ask(user) for user in ("alice", "bob") * 20]
    assert {answer.decision for answer in answers} == {"planned"}
