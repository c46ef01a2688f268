"""The ADS server against a real Envoy: restarts, removals, refusals."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import grpc
import pytest
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.service.discovery.v3 import discovery_pb2

from cacheroute.cli.gateway import envoy_command
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.table import RoutingTable, TableGroup
from cacheroute.proxy.bootstrap import BootstrapSettings, Place
from cacheroute.proxy.compile import compile_tables
from cacheroute.proxy.settings import JwtProvider
from cacheroute.proxy.snapshot import CLUSTERS, ROUTES, Snapshot, resource
from cacheroute.proxy.tuning import Tuning
from e2e.gateway_rig import (
    DEADLINE,
    GATEWAY,
    Answer,
    Rig,
    envoy_program,
    free_places,
    gateway,
    start_backend,
    table,
    until,
)

ADS = "envoy.service.discovery.v3.AggregatedDiscoveryService"

pytestmark = pytest.mark.envoy


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(2) as made:
        await made.publish(*plans(made))
        yield made


def plans(rig: Rig) -> tuple[RoutingTable, RoutingTable]:
    """Return the tables of two plans on the same destinations."""
    endpoints = tuple(backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
    groups = (TableGroup((0,), (1,), ("alice",)), TableGroup((1,), (0,), ("bob",)))
    return table(endpoints, groups), table(endpoints, groups, name="other", models=("other",))


def broken(tables: tuple[RoutingTable, ...]) -> Snapshot:
    """Return a snapshot whose route table has one domain twice, which Envoy rejects."""
    twice = [route_components_pb2.VirtualHost(name=name, domains=["same"]) for name in ("one", "two")]
    good = compile_tables(tables, Tuning()).snapshot
    bad = resource("cacheroute", route_pb2.RouteConfiguration(name="cacheroute", virtual_hosts=twice))
    return Snapshot("broken", {**good.resources, ROUTES: {bad.name: bad}})


async def cluster_names(rig: Rig) -> set[str]:
    text = await rig.page(rig.admin, "/clusters?format=json")
    return {one["name"] for one in json.loads(text)["cluster_statuses"]}


async def test_a_deleted_plan_is_removed(rig: Rig) -> None:
    await rig.publish(plans(rig)[0])
    assert "inference/other" not in await cluster_names(rig)
    assert (await rig.post({"model": "other"})).status == 404


async def test_a_plan_deleted_while_the_server_was_away_is_removed(rig: Rig) -> None:
    assert "inference/other" in await cluster_names(rig)
    await rig.restart_ads(plans(rig)[0])
    assert "inference/other" not in await cluster_names(rig)
    assert (await rig.ask("alice")).destination == "pod-0"


async def test_a_restarted_server_serves_the_same_versions_and_no_request_notices(rig: Rig) -> None:
    before = rig.ads.publish(GATEWAY, plans(rig))
    answers: list[Answer] = []
    stop = asyncio.Event()

    async def keep_asking() -> None:
        while not stop.is_set():
            answers.append(await rig.ask("alice"))

    client = asyncio.create_task(keep_asking())
    after = await rig.restart_ads(*plans(rig))
    stop.set()
    await client
    assert after == before
    assert {(answer.status, answer.destination) for answer in answers} == {(200, "pod-0")}


async def test_a_rejected_table_leaves_the_last_good_one_and_is_reported(rig: Rig) -> None:
    rig.ads.publish_snapshot(GATEWAY, broken(plans(rig)))
    await until(lambda: bool(rig.ads.status(GATEWAY).rejections), "the rejection")
    status = rig.ads.status(GATEWAY)
    (rejection,) = status.rejections
    assert (status.connected, status.synced) == (1, 0)
    assert (rejection.node, rejection.reason) == ("envoy-1", "Rejected")
    assert "same" in rejection.message
    assert len(rejection.message) <= 300
    assert (await rig.ask("alice")).destination == "pod-0"


async def test_a_proxy_that_connects_after_a_rejection_gets_the_last_good_table(rig: Rig) -> None:
    rig.ads.publish_snapshot(GATEWAY, broken(plans(rig)))
    await until(lambda: bool(rig.ads.status(GATEWAY).rejections), "the rejection")
    await rig.start_envoy()

    async def serves() -> bool:
        with contextlib.suppress(aiohttp.ClientError):
            return (await rig.ask("alice")).destination == "pod-0"
        return False

    async with asyncio.timeout(DEADLINE):
        while not await serves():  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.05)
    (rejection,) = rig.ads.status(GATEWAY).rejections
    assert (rejection.node, rejection.reason) == ("envoy-1", "Rejected")
    await rig.publish(plans(rig)[0])
    assert rig.ads.status(GATEWAY).rejections == ()


async def test_a_good_table_after_a_rejected_one_is_taken(rig: Rig) -> None:
    rig.ads.publish_snapshot(GATEWAY, broken(plans(rig)))
    await until(lambda: bool(rig.ads.status(GATEWAY).rejections), "the rejection")
    await rig.publish(plans(rig)[0])
    assert rig.ads.status(GATEWAY).rejections == ()
    assert (await rig.post({"model": "other"})).status == 404


async def test_moved_keys_never_fail(rig: Rig) -> None:
    first, second = plans(rig)
    swapped = replace(first, groups=(TableGroup((1,), (0,), ("alice", "bob")),))
    for _ in range(5):
        await rig.publish(swapped, second)
        assert (await rig.ask("alice")).destination == "pod-1"
        await rig.publish(first, second)
        assert (await rig.ask("alice")).destination == "pod-0"


async def test_replicated_keys_never_leave_their_plan_while_it_changes(rig: Rig) -> None:
    first, second = plans(rig)
    third = await start_backend(rig, "pod-2")
    endpoints = (*first.endpoints, third.endpoint(2))
    one = replace(first, endpoints=endpoints, groups=(TableGroup((0, 1), (), ("shared",)),))
    two = replace(one, groups=(TableGroup((1, 2), (), ("shared",)),))
    answers: list[Answer] = []
    stop = asyncio.Event()

    async def keep_asking() -> None:
        while not stop.is_set():
            answers.append(await rig.ask("shared"))

    await rig.publish(one, second)
    clients = [asyncio.create_task(keep_asking()) for _ in range(4)]
    for table_now in (two, one) * 10:
        await rig.publish(table_now, second)
    stop.set()
    await asyncio.gather(*clients)
    assert {answer.decision for answer in answers} == {"planned"}


def open_stream(channel: grpc.aio.Channel, method: str) -> Any:
    """Open a stream whose messages are bytes."""
    open_call: Any = channel.stream_stream
    return open_call(f"/{ADS}/{method}")()


@contextlib.asynccontextmanager
async def one_more_envoy(rig: Rig, node: str, keys: str) -> AsyncIterator[None]:
    """Run a second Envoy with a key set of its own."""
    provider = JwtProvider(name="corp", issuer="https://corp.example", jwks=keys)
    listen, stats, admin = free_places(3)
    xds = Place("127.0.0.1", rig.xds_port)
    settings = BootstrapSettings(GATEWAY, node, xds, listen, stats, admin, jwt=(provider,))
    command = envoy_command(envoy_program(), settings, concurrency=1, log_level="off")
    process = await asyncio.create_subprocess_exec(*command)
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def test_a_listener_that_its_own_proxy_rejects_is_told_while_that_is_connected(rig: Rig) -> None:
    async with one_more_envoy(rig, "envoy-2", '{"keys": [{"kty": "RSA", "n": "!", "e": "?"}]}'):
        await until(lambda: bool(rig.ads.status(GATEWAY).rejections), "the rejection")
        for tables in (plans(rig), plans(rig)[:1]):
            rig.ads.publish(GATEWAY, tables)
            await until(lambda: rig.ads.status(GATEWAY).synced == 1, "the other proxy has it")
            status = rig.ads.status(GATEWAY)
            assert [(one.node, one.reason) for one in status.rejections] == [("envoy-2", "Rejected")]
    await until(lambda: rig.ads.status(GATEWAY) == GatewayStatus(1, 1), "its rejection has gone with it")


@pytest.mark.parametrize("names", [{"id": "a\x1b[2J", "cluster": GATEWAY}, {"id": "a", "cluster": "b\u202e"}])
async def test_a_name_that_would_write_on_terminals_is_refused(rig: Rig, names: dict[str, str]) -> None:
    ask = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTERS, node=names)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{rig.xds_port}") as channel:
        call = open_stream(channel, "DeltaAggregatedResources")
        await call.write(ask.SerializeToString())
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "cannot be shown" in await call.details()


async def seen_with(rig: Rig, minor: int) -> GatewayStatus:
    """Let a proxy of Envoy 1.``minor`` connect and return the gateway's status then."""
    ask = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTERS, node={"id": "old", "cluster": GATEWAY})
    version = ask.node.user_agent_build_version.version
    version.major_number, version.minor_number = 1, minor
    async with grpc.aio.insecure_channel(f"127.0.0.1:{rig.xds_port}") as channel:
        await open_stream(channel, "DeltaAggregatedResources").write(ask.SerializeToString())
        await until(lambda: rig.ads.status(GATEWAY).connected == 2, "the second proxy")
        return rig.ads.status(GATEWAY)


async def test_an_envoy_that_would_ignore_the_keys_is_refused(rig: Rig) -> None:
    status = await seen_with(rig, 36)
    assert [(one.node, one.reason) for one in status.rejections] == [("old", "UnsupportedVersion")]
    assert "1.37" in status.rejections[0].message
    assert (await when_gone(rig)).rejections == ()


async def when_gone(rig: Rig) -> GatewayStatus:
    await until(lambda: rig.ads.status(GATEWAY).connected == 1, "the second proxy is gone")
    return rig.ads.status(GATEWAY)


async def test_state_of_the_world_is_refused_clearly(rig: Rig) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{rig.xds_port}") as channel:
        call = open_stream(channel, "StreamAggregatedResources")
        assert await call.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "DELTA_GRPC" in await call.details()
