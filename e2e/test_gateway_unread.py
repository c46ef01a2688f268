"""A gateway whose only plan serves every model: a key before the body needs no look into it."""

from collections.abc import AsyncIterator

import pytest

from cacheroute.domain.table import TableGroup
from cacheroute.proxy.settings import DEFAULT_BODY_BYTES
from e2e.gateway_rig import Rig, gateway, table

pytestmark = pytest.mark.envoy

TENANT = {"x-tenant-id": "alice"}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(2) as made:
        endpoints = tuple(backend.endpoint(seat) for seat, backend in enumerate(made.backends))
        groups = (TableGroup((0,), (), ("alice",)), TableGroup((1,), (), ("bob",)))
        await made.publish(table(endpoints, groups, models=("*",)))
        yield made


@pytest.mark.parametrize("body", [{"model": "any", "user": "bob"}, {"user": "bob"}, b"no JSON"])
async def test_a_key_in_a_header_decides_whatever_the_body_is(rig: Rig, body: object) -> None:
    answer = await rig.post(body, TENANT)
    assert (answer.destination, answer.decision) == ("pod-0", "planned")


async def test_without_one_the_body_is_read(rig: Rig) -> None:
    answer = await rig.post({"model": "any", "user": "bob"})
    assert (answer.destination, answer.decision) == ("pod-1", "planned")


async def test_a_request_without_a_body_has_no_key(rig: Rig) -> None:
    answer = await rig.request("GET", "/v1/models", headers=TENANT)
    assert (answer.status, answer.decision) == (200, "cold")


async def test_a_body_over_the_limit_is_413_also_unread(rig: Rig) -> None:
    assert (await rig.post(b"x" * (DEFAULT_BODY_BYTES + 1), TENANT)).status == 413


async def test_a_changed_plan_is_known_to_the_script(rig: Rig) -> None:
    endpoints = tuple(backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
    await rig.post({"model": "any"}, TENANT)
    groups = (TableGroup((1,), (), ("alice",)),)
    await rig.publish(table(endpoints, groups, name="other", models=("other",)))
    assert (await rig.post({"model": "any"}, TENANT)).status == 404
    answer = await rig.post({"model": "other"}, TENANT)
    assert (answer.destination, answer.decision) == ("pod-1", "planned")
