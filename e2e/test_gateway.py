"""The gateway's data plane on a real Envoy: who answers, what it says of itself, what is counted."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from cacheroute.domain.table import Endpoint, TableGroup
from cacheroute.proxy.settings import DEFAULT_BODY_BYTES
from e2e.gateway_rig import RESERVED, Answer, Rig, drained, gateway, start_backend, table, until

pytestmark = pytest.mark.envoy

GROUPS = (
    TableGroup((0,), (1,), ("alice", "org/team:a")),
    TableGroup((1,), (0,), ("bob",)),
    TableGroup((1, 2), (0,), ("shared",)),
)
PLAN = "inference/llama"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(4) as made:
        await made.publish(table(seated(made), GROUPS))
        yield made


def seated(rig: Rig) -> tuple[Endpoint, ...]:
    """Seat all destinations but the last one."""
    *some, last = rig.backends
    return (*(backend.endpoint(seat) for seat, backend in enumerate(some)), last.endpoint())


def error_of(answer: Answer) -> str:
    """Return the message of an OpenAI error, which has the answer's status as its code."""
    error = json.loads(answer.text)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["code"] == answer.status
    assert error["type"]
    return str(error["message"])


async def test_a_key_from_the_body_goes_to_its_seat(rig: Rig) -> None:
    answer = await rig.ask("alice")
    assert (answer.status, answer.destination, answer.decision) == (200, "pod-0", "planned")
    assert answer.headers[f"{RESERVED}plan"] == "version-of-llama"


async def test_a_header_comes_before_the_body_and_case_does_not_matter(rig: Rig) -> None:
    answer = await rig.post({"model": "LLaMA", "user": "alice"}, {"X-Tenant-Id": "BOB"})
    assert (answer.destination, answer.decision) == ("pod-1", "planned")


async def test_a_cookie_is_found_among_others_and_comes_before_the_body(rig: Rig) -> None:
    for cookie in (
        "a=1; tenant=bob; b=2",
        'tenant="bob"',
        "tenant=BOB;x=y",
        "nottenant=alice; tenant=bob; tenant=alice",
    ):
        answer = await rig.post({"model": "llama", "user": "alice"}, {"cookie": cookie})
        assert (answer.destination, answer.decision) == ("pod-1", "planned"), cookie
    for cookie in ("", ";;;=", "tenant=", "tenant", "x" * 8000):
        answer = await rig.post({"model": "llama", "user": "alice"}, {"cookie": cookie})
        assert answer.destination == "pod-0", cookie


async def test_a_member_of_an_object_in_the_body_is_a_key(rig: Rig) -> None:
    nested = {"model": "llama", "metadata": {"user_id": "bob", "x": [{"user_id": "alice"}]}}
    assert (await rig.post(nested)).destination == "pod-1"
    assert (await rig.post({**nested, "user": "alice"})).destination == "pod-0"
    for hostile in (
        {"model": "llama", "metadata.user_id": "bob"},
        {"model": "llama", "a": {"metadata": {"user_id": "bob"}}},
        {"model": "llama", "metadata": [{"user_id": "bob"}]},
        {"model": "llama", "metadata": {"a": {"user_id": "bob"}}},
        {"model": "llama", "metadata": "user_id"},
    ):
        assert (await rig.post(hostile)).decision == "cold", hostile
    again = b'{"model":"llama","metadata":{"user_id":"bob"},"metadata":{}}'
    assert (await rig.post(again)).decision == "cold"


async def test_an_unknown_key_is_cold_and_uses_the_whole_fleet(rig: Rig) -> None:
    answers = [await rig.ask(f"stranger-{number}") for number in range(60)]
    assert {answer.decision for answer in answers} == {"cold"}
    assert {answer.destination for answer in answers} == {"pod-0", "pod-1", "pod-2", "pod-3"}


async def test_a_replicated_key_stays_in_its_seats(rig: Rig) -> None:
    answers = [await rig.ask("shared") for _ in range(40)]
    assert {answer.decision for answer in answers} == {"planned"}
    assert {answer.destination for answer in answers} == {"pod-1", "pod-2"}


async def test_reserved_headers_of_clients_are_removed(rig: Rig) -> None:
    spoofed = {f"{RESERVED}key": "p/inference/llama/bob", "X-CacheRoute-Anything": "1"}
    answer = await rig.post({"model": "llama", "user": "alice"}, spoofed)
    assert answer.destination == "pod-0"
    assert not [name for name in json.loads(answer.text)["headers"] if name.startswith(RESERVED)]


async def test_an_unknown_model_is_a_clear_404(rig: Rig) -> None:
    answer = await rig.post({"model": "gpt", "user": "alice"})
    assert answer.status == 404
    assert "No such model" in error_of(answer)


async def test_a_body_over_the_limit_is_a_clear_413(rig: Rig) -> None:
    answer = await rig.ask("alice", prompt="x" * DEFAULT_BODY_BYTES)
    assert answer.status == 413
    assert "larger" in error_of(answer)


async def test_a_fleet_without_destinations_is_a_clear_503(rig: Rig) -> None:
    await rig.publish(table((), GROUPS))
    answer = await rig.ask("alice")
    assert answer.status == 503
    assert "No destination" in error_of(answer)


async def test_the_list_of_models_comes_from_the_only_plan(rig: Rig) -> None:
    answer = await rig.request("GET", "/v1/models")
    assert (answer.status, answer.decision) == (200, "cold")


async def test_two_plans_need_a_model_except_for_the_list(rig: Rig) -> None:
    other = table(seated(rig), name="other", models=("qwen",))
    await rig.publish(table(seated(rig), GROUPS), other)
    assert (await rig.request("GET", "/v1/models")).headers[f"{RESERVED}plan"] == "version-of-llama"
    answer = await rig.post({"user": "alice"})
    assert answer.status == 400
    assert "names no model" in error_of(answer)


async def test_a_plan_for_any_model_serves_what_no_other_claims(rig: Rig) -> None:
    anything = table(seated(rig), (TableGroup((2,), (), ("alice",)),), name="rest", models=("*",))
    await rig.publish(table(seated(rig), GROUPS), anything)
    assert (await rig.ask("alice")).destination == "pod-0"
    for model in ("gpt", "m*", "x" * 5000, "*"):
        answer = await rig.post({"model": model, "user": "alice"})
        assert (answer.destination, answer.decision) == ("pod-2", "planned"), model[:10]


async def test_a_draining_destination_takes_nothing_new(rig: Rig) -> None:
    first, *rest = seated(rig)
    await rig.publish(table((drained(first), *rest), GROUPS))
    answer = await rig.ask("alice")
    assert (answer.destination, answer.decision) == ("pod-1", "standby")
    answers = [await rig.ask("stranger") for _ in range(40)]
    assert "pod-0" not in {answer.destination for answer in answers}


async def test_a_killed_destination_fails_no_request(rig: Rig) -> None:
    answers: list[Answer] = []
    stop = asyncio.Event()
    clients = [asyncio.create_task(keep_asking(rig, user, answers, stop)) for user in ("alice", "bob") * 4]
    await until(lambda: len(answers) > 50, "traffic before")
    await rig.backends[0].kill()
    killed = len(answers)
    await until(lambda: len(answers) > killed + 300, "traffic after")
    stop.set()
    await asyncio.gather(*clients)
    assert Counter(answer.status for answer in answers) == {200: len(answers)}
    last = await rig.ask("alice")
    assert (last.destination, last.decision) == ("pod-1", "standby")


async def keep_asking(rig: Rig, user: str, answers: list[Answer], stop: asyncio.Event) -> None:
    while not stop.is_set():
        answers.append(await rig.ask(user))


async def test_two_killed_at_once_leave_the_fleet(rig: Rig) -> None:
    await rig.ask("alice")
    await asyncio.gather(rig.backends[0].kill(), rig.backends[1].kill())
    answer = await rig.ask("alice")
    assert (answer.status, answer.decision) == (200, "cold")
    assert answer.destination in {"pod-2", "pod-3"}


async def test_a_replacement_takes_the_seat_without_a_new_route_table(rig: Rig) -> None:
    routes = await rig.stat("http.gateway.rds.cacheroute.update_attempt")
    new = await start_backend(rig, "pod-new")
    await rig.backends[0].kill()
    _, *rest = seated(rig)[: len(rig.backends) - 1]
    await rig.publish(table((new.endpoint(0), *rest[:3]), GROUPS))
    answer = await rig.answered_by("alice", "pod-new")
    assert answer.decision == "planned"
    assert await rig.stat("http.gateway.rds.cacheroute.update_attempt") == routes


async def test_requests_and_tokens_are_counted_by_key_and_decision(rig: Rig) -> None:
    await rig.ask("alice")
    await rig.ask("alice", stream=True)
    await rig.ask("a key with blanks")
    await rig.post({"model": "llama"})
    assert await rig.counted_requests(4) == {
        (PLAN, "alice", "planned"): 2,
        (PLAN, "!", "cold"): 1,
        (PLAN, "", "cold"): 1,
    }
    assert (await rig.counted("envoy_cacheroute_prompt_tokens"))[PLAN, "alice", "planned"] == 2400
    assert (await rig.counted("envoy_cacheroute_cached_tokens"))[PLAN, "alice", "planned"] == 2200


async def test_only_two_pages_of_the_administration_are_shown(rig: Rig) -> None:
    assert await rig.page(rig.stats, "/ready") == "LIVE\n"
    for path in ("/config_dump", "/stats", "/quitquitquit", "/"):
        assert await rig.page(rig.stats, path) == "", path


async def test_counters_that_nobody_uses_are_dropped() -> None:
    async with gateway(1, eviction_seconds=5) as rig:
        await rig.publish(table((rig.backends[0].endpoint(0),)))
        await rig.ask("once")
        await rig.counted_requests(1)
        async with asyncio.timeout(30):
            while await rig.counted("envoy_cacheroute_requests"):  # noqa: ASYNC110  the other side is a process
                await asyncio.sleep(0.1)
        await rig.ask("again")
        assert await rig.counted_requests(1) == {(PLAN, "again", "cold"): 1}
