"""Modes on a real Envoy: how much of a key's traffic goes by plan, switched under load, and answers that tell nothing."""

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from cacheroute.domain.table import RoutingTable, TableGroup
from e2e.gateway_rig import RESERVED, Answer, Rig, gateway, table, until

pytestmark = pytest.mark.envoy

GROUPS = (
    TableGroup((0,), (1,), ("alice",)),
    TableGroup((1,), (0,), ("bob",)),
    TableGroup((1, 2), (0,), ("shared",)),
)
USERS = ("alice", "bob", "shared", "stranger")
SHADOW, ACTIVE = 0, 100


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(4) as made:
        yield made


def planned(rig: Rig, percent: int, *, explain: bool = True) -> RoutingTable:
    """Return a table that routes so much by plan; the last destination has no seat."""
    *some, last = rig.backends
    seated = (*(backend.endpoint(seat) for seat, backend in enumerate(some)), last.endpoint())
    return replace(table(seated, GROUPS), planned_percent=percent, explain=explain)


async def decisions(rig: Rig, user: str, number: int) -> Counter[str | None]:
    return Counter([(await rig.ask(user)).decision for _ in range(number)])


async def test_shadow_routes_all_keys_by_power_of_two_choices(rig: Rig) -> None:
    await rig.publish(planned(rig, SHADOW))
    answers = [await rig.ask("alice") for _ in range(60)]
    assert {answer.decision for answer in answers} == {"cold"}
    assert {answer.destination for answer in answers} == {backend.name for backend in rig.backends}
    assert answers[0].headers[f"{RESERVED}plan"] == "version-of-llama"


@pytest.mark.parametrize("percent", [10, 50, 90])
async def test_a_canary_draws_for_each_request_of_each_key(rig: Rig, percent: int) -> None:
    """Within 5 standard deviations of a binomial share."""
    number = 300
    margin = 5 * math.sqrt(percent / 100 * (1 - percent / 100) * number)
    await rig.publish(planned(rig, percent))
    for user in ("alice", "shared"):
        drawn = await decisions(rig, user, number)
        assert abs(drawn["planned"] - percent / 100 * number) < margin
    assert (await decisions(rig, "stranger", 50)).keys() == {"cold"}


async def test_one_draw_does_not_tell_the_next_on_one_connection(rig: Rig) -> None:
    """Of 400 pairs of neighbours half differ; a draw by connection or by key would give none, one in turn all."""
    await rig.publish(planned(rig, 50))
    drawn = [(await rig.ask("alice")).decision for _ in range(401)]
    changed = sum(one != other for one, other in itertools.pairwise(drawn))
    assert 150 < changed < 250


async def test_a_flat_request_is_cold_also_where_it_finds_its_seat(rig: Rig) -> None:
    await rig.publish(planned(rig, 50))
    found = {(one.decision, one.destination) for one in [await rig.ask("alice") for _ in range(200)]}
    assert ("planned", "pod-0") in found
    assert ("cold", "pod-0") in found
    assert not {one for one in found if one[0] == "planned"} - {("planned", "pod-0")}


async def test_modes_are_switched_under_load_without_a_failed_request(rig: Rig) -> None:
    answers: list[Answer] = []
    stop = asyncio.Event()
    await rig.publish(planned(rig, SHADOW))
    clients = [asyncio.create_task(keep_asking(rig, user, answers, stop)) for user in USERS * 3]
    moved = replace(
        planned(rig, ACTIVE), groups=(TableGroup((2,), (0,), ("alice",)), TableGroup((0, 1), (), ("shared",)))
    )
    for _ in range(3):
        for percent in (10, 50, ACTIVE, ACTIVE, SHADOW):
            await switch(rig, planned(rig, percent), answers)
        await switch(rig, moved, answers)
        await switch(rig, replace(moved, planned_percent=10), answers)
        await switch(rig, planned(rig, SHADOW), answers)
    stop.set()
    await asyncio.gather(*clients)
    assert Counter(answer.status for answer in answers) == {200: len(answers)}
    assert {answer.decision for answer in answers} == {"planned", "cold"}


async def switch(rig: Rig, to: RoutingTable, answers: list[Answer]) -> None:
    """Publish a table and let it serve some requests."""
    await rig.publish(to)
    seen = len(answers)
    await until(lambda: len(answers) > seen + 50, "traffic")


async def keep_asking(rig: Rig, user: str, answers: list[Answer], stop: asyncio.Event) -> None:
    while not stop.is_set():
        answers.append(await rig.ask(user))


async def test_answers_tell_nothing_where_the_plan_says_so(rig: Rig) -> None:
    silent = replace(planned(rig, ACTIVE, explain=False), models=("quiet",))
    silent = replace(silent, ref=replace(silent.ref, name="quiet"))
    await rig.publish(planned(rig, ACTIVE), silent)
    for user in USERS:
        quiet = await rig.post({"model": "quiet", "user": user})
        assert quiet.status == 200
        assert not [name for name in quiet.headers if name.lower().startswith(RESERVED)]
    assert (await rig.ask("alice")).headers[f"{RESERVED}plan"] == "version-of-llama"
    await rig.publish(replace(silent, endpoints=()))
    assert (await rig.post({"model": "quiet", "user": "alice"})).status == 503
    counted = await rig.counted_requests(len(USERS) + 2)
    assert counted["inference/quiet", "alice", "planned"] == 1


async def test_answers_are_explained_before_there_is_a_plan(rig: Rig) -> None:
    await rig.publish(replace(planned(rig, ACTIVE), version="", groups=()))
    answer = await rig.ask("alice")
    assert answer.destination in {backend.name for backend in rig.backends}
    assert answer.decision == "cold"
    assert await rig.counted_requests(1) == {("inference/llama", "alice", "cold"): 1}


@pytest.mark.parametrize("explain", [True, False])
async def test_an_engine_cannot_explain_in_our_place(rig: Rig, *, explain: bool) -> None:
    """Such as one that is a gateway like this itself; nor does its answer change what is counted or shown."""
    await rig.publish(planned(rig, ACTIVE, explain=explain))
    names = ("destination", "decision", "plan")
    said = {"text": "{}", "headers": {f"{RESERVED}{name}": "theirs" for name in names}}
    answer = await rig.ask("alice", say=said)
    ours = ("pod-0", "planned", "version-of-llama") if explain else (None, None, None)
    assert tuple(answer.headers.get(f"{RESERVED}{name}") for name in names) == ours
    assert await rig.counted_requests(1) == {("inference/llama", "alice", "planned"): 1}
