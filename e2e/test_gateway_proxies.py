"""Several proxies of one gateway, a real Envoy among them: who tries what first, and peers that do not play by the rules."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2
from structlog.testing import capture_logs

from cacheroute.domain.table import RoutingTable, TableGroup
from cacheroute.proxy import server, session
from cacheroute.proxy.server import AdsServer
from cacheroute.proxy.snapshot import CLUSTERS, ENDPOINTS, LISTENERS, ROUTES
from e2e.ads_client import OPTIONS, connected, open_deltas, request
from e2e.gateway_rig import GATEWAY, Rig, gateway, table, until

pytestmark = pytest.mark.envoy


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(2) as made:
        await made.publish(*plans(made))
        yield made


def plans(rig: Rig, seat: int = 0) -> tuple[RoutingTable, ...]:
    """Return the tables of two plans; alice goes to the pod of ``seat``."""
    endpoints = tuple(backend.endpoint(number) for number, backend in enumerate(rig.backends))
    groups = (TableGroup((seat,), (1 - seat,), ("alice",)),)
    return table(endpoints, groups), table(endpoints, groups, name="other", models=("other",))


def target(rig: Rig) -> str:
    return f"127.0.0.1:{rig.xds_port}"


async def route_version(rig: Rig) -> str:
    """Return the version of the routes that Envoy has."""
    page = json.loads(await rig.page(rig.admin, "/config_dump?resource=dynamic_route_configs"))
    (routes,) = page["configs"]
    return str(routes["version_info"])


async def both_synced(rig: Rig) -> None:
    await until(lambda: rig.ads.status(GATEWAY).synced == 2, "both proxies are synced")


async def test_what_the_canary_rejects_no_other_proxy_sees(rig: Rig) -> None:
    bad = False
    async with connected(target(rig), "a", GATEWAY, rejects=lambda kind: bad and kind == ROUTES):
        await both_synced(rig)
        bad = True
        routes = await route_version(rig)
        rig.ads.publish(GATEWAY, plans(rig, 1))
        await until(lambda: bool(rig.ads.status(GATEWAY).rejections), "the rejection")
        (rejection,) = rig.ads.status(GATEWAY).rejections
        assert (rejection.node, rejection.reason) == ("a", "Rejected")
        endpoints = tuple(replace(one, draining=one.seat == 1) for one in plans(rig)[0].endpoints)
        rig.ads.publish(GATEWAY, tuple(replace(one, endpoints=endpoints) for one in plans(rig, 1)))
        await until(lambda: rig.ads.status(GATEWAY).synced == 0, "nobody to be synced")
        assert (await rig.ask("alice")).destination == "pod-0"
        assert await route_version(rig) == routes
        bad = False
        rig.ads.publish(GATEWAY, plans(rig))
        await both_synced(rig)


async def test_a_loss_reaches_the_others_while_the_canary_tries(rig: Rig) -> None:
    async with connected(target(rig), "a", GATEWAY) as canary:
        await both_synced(rig)
        canary.answers = False
        tables = plans(rig, 1)
        rig.ads.publish(GATEWAY, tables)
        rig.ads.publish(GATEWAY, tuple(replace(one, endpoints=one.endpoints[1:]) for one in tables))

        async def hosts() -> int:
            page = json.loads(await rig.page(rig.admin, "/clusters?format=json"))
            found = (one for one in page["cluster_statuses"] if one["name"] == "inference/llama")
            return len(next(found)["host_statuses"])

        async with asyncio.timeout(1.5):  # the canary is waited for two seconds
            while await hosts() != 1:  # noqa: ASYNC110  the other side is a process
                await asyncio.sleep(0.01)


async def test_a_canary_that_does_not_answer_is_not_waited_for_longer_than_a_moment(rig: Rig) -> None:
    async with connected(target(rig), "a", GATEWAY) as canary:
        await both_synced(rig)
        canary.answers = False
        rig.ads.publish(GATEWAY, plans(rig, 1))
        await until(lambda: rig.ads.status(GATEWAY).synced == 1, "Envoy has it")
        assert (await rig.ask("alice")).destination == "pod-1"
        assert any(kind == ROUTES for kind, _, _ in canary.seen)


async def test_when_envoy_has_accepted_it_the_others_get_it(rig: Rig) -> None:
    async with connected(target(rig), "z", GATEWAY) as other:
        await both_synced(rig)
        before = other.has[ROUTES]["cacheroute"]
        rig.ads.publish(GATEWAY, plans(rig, 1))
        await both_synced(rig)
        assert other.has[ROUTES]["cacheroute"] != before


async def test_a_proxy_that_connects_after_a_restart_of_the_server_is_never_emptied(rig: Rig) -> None:
    """The first proxy tries the changed table and does not answer; the other keeps its clusters meanwhile."""
    async with connected(target(rig), "a", GATEWAY, answers=False):
        await until(lambda: rig.ads.status(GATEWAY).connected == 2, "both proxies")
        await rig.ads.stop()
    rig.ads = AdsServer(lambda _gateway: None)
    rig.ads.publish(GATEWAY, plans(rig, 1)[:1])
    await rig.ads.start(target(rig))
    async with connected(target(rig), "a", GATEWAY, answers=False):
        await until(lambda: rig.ads.status(GATEWAY).connected == 2, "both proxies")
        assert (await rig.ask("alice")).status == 200
        await until(lambda: rig.ads.status(GATEWAY).synced == 1, "Envoy has it")
    assert (await rig.ask("alice")).destination == "pod-1"
    assert (await rig.post({"model": "other"})).status == 404


async def test_an_envoy_that_is_killed_while_it_warms_gets_everything_when_it_returns(rig: Rig) -> None:
    for seat in (1, 0, 1):
        rig.ads.publish(GATEWAY, plans(rig, seat))
        await rig.start_envoy()
    await until(
        lambda: rig.ads.status(GATEWAY).connected == 1 and rig.ads.status(GATEWAY).synced == 1,
        "Envoy is back",
    )

    async def serves() -> bool:
        with contextlib.suppress(OSError):
            return (await rig.ask("alice")).destination == "pod-1"
        return False

    async with asyncio.timeout(20):
        while not await serves():  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.05)


async def test_many_proxies_of_one_name_are_all_served(rig: Rig) -> None:
    async with contextlib.AsyncExitStack() as stack:
        twins = [
            await stack.enter_async_context(connected(target(rig), "envoy-1", GATEWAY)) for _ in range(20)
        ]
        await until(lambda: rig.ads.status(GATEWAY).synced == 21, "all are synced")
        rig.ads.publish(GATEWAY, plans(rig, 1))
        await until(lambda: rig.ads.status(GATEWAY).synced == 21, "all are synced again")
        assert len({one.has[ROUTES]["cacheroute"] for one in twins}) == 1


HOSTILE = {
    "bytes that are no message": ([b"\xff" * 100], grpc.StatusCode.INVALID_ARGUMENT),
    "a huge node id": ([request(CLUSTERS, "x" * 1_000_000, GATEWAY)], grpc.StatusCode.INVALID_ARGUMENT),
    "a huge gateway": ([request(CLUSTERS, "x", "g" * 1_000_000)], grpc.StatusCode.INVALID_ARGUMENT),
    "a huge request": ([b"\x00" * 9_000_000], grpc.StatusCode.RESOURCE_EXHAUSTED),
    "a million subscriptions": (
        [request(CLUSTERS, "x", GATEWAY)]
        + [
            discovery_pb2.DeltaDiscoveryRequest(
                type_url=ENDPOINTS, resource_names_subscribe=[f"{part} {one}" for one in range(10_000)]
            )
            for part in range(3)
        ],
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_peer_that_is_no_envoy_is_refused_with_a_line(rig: Rig, kind: str) -> None:
    messages, code = HOSTILE[kind]
    with capture_logs() as logs:
        async with grpc.aio.insecure_channel(target(rig)) as channel:
            call = open_deltas(channel)
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                for one in messages:
                    await call.write(one if isinstance(one, bytes) else one.SerializeToString())
            with contextlib.suppress(grpc.aio.AioRpcError):  # a status comes after what was sent before it
                while await call.read():
                    pass
            assert await call.code() is code
    assert not [one for one in logs if one["log_level"] == "error"]
    await until(lambda: rig.ads.status(GATEWAY).connected == 1, "it is gone")
    assert (await rig.ask("alice")).status == 200


async def test_strange_requests_of_a_proxy_disturb_nobody(rig: Rig) -> None:
    strange = [
        discovery_pb2.DeltaDiscoveryRequest(),
        discovery_pb2.DeltaDiscoveryRequest(type_url="type.googleapis.com/nothing", response_nonce="7"),
        discovery_pb2.DeltaDiscoveryRequest(
            type_url=ROUTES, response_nonce="9", error_detail={"message": "no"}
        ),
        discovery_pb2.DeltaDiscoveryRequest(type_url=ENDPOINTS, resource_names_unsubscribe=["nothing", "*"]),
        discovery_pb2.DeltaDiscoveryRequest(type_url=LISTENERS, resource_names_subscribe=["", "*", "\n"]),
    ]
    async with grpc.aio.insecure_channel(target(rig)) as channel:
        call = open_deltas(channel)
        for one in [request(CLUSTERS, "strange", GATEWAY), *strange] * 3:
            await call.write(one.SerializeToString())
        await until(lambda: rig.ads.status(GATEWAY).connected == 2, "the proxy")
        await rig.synced()
        assert rig.ads.status(GATEWAY).rejections == ()
        rig.ads.publish(GATEWAY, plans(rig, 1))
        await until(lambda: rig.ads.status(GATEWAY).synced == 1, "Envoy has it")
        assert not call.done()


async def test_a_stream_that_asks_nothing_is_ended(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_REQUEST_SECONDS", 0.2)
    async with grpc.aio.insecure_channel(target(rig)) as channel:
        call = open_deltas(channel)
        assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "asked nothing" in await call.details()


async def test_a_proxy_that_never_answers_is_disconnected(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []
    monkeypatch.setattr(session, "STUCK_SECONDS", 0.5)
    monkeypatch.setattr("cacheroute.proxy.subscription.STUCK_SECONDS", 0.5)
    monkeypatch.setattr(rig.ads, "_on_refusal", refused.append)
    async with connected(target(rig), "z", GATEWAY, answers=False):
        await until(lambda: refused == ["stuck"], "the end of its stream")
    assert rig.ads.status(GATEWAY).synced == 1


async def test_more_streams_than_allowed_are_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_STREAMS", 1)
    async with grpc.aio.insecure_channel(target(rig)) as channel:
        call = open_deltas(channel)
        assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_proxies_that_do_not_read_hold_up_nobody(rig: Rig) -> None:
    """More of them than large responses may be sent at once."""
    keys = tuple(f"key-{number:06}" for number in range(60_000))
    tables = tuple(replace(one, groups=(TableGroup((0,), (1,), keys),)) for one in plans(rig))
    async with contextlib.AsyncExitStack() as stack:
        for number in range(session.LARGE_AT_ONCE + 2):
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(target(rig), options=OPTIONS))
            call = open_deltas(channel)
            await call.write(request(CLUSTERS, f"z{number}", GATEWAY).SerializeToString())
            ask = discovery_pb2.DeltaDiscoveryRequest(
                type_url=ROUTES, resource_names_subscribe=["cacheroute"]
            )
            await call.write(ask.SerializeToString())
        await until(lambda: rig.ads.status(GATEWAY).connected == session.LARGE_AT_ONCE + 3, "all of them")
        rig.ads.publish(GATEWAY, tables)
        await until(lambda: rig.ads.status(GATEWAY).synced == 1, "Envoy has the large table")
    assert (await rig.ask("key-000001")).destination == "pod-0"
