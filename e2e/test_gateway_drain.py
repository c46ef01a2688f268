"""The drain of a real Envoy: it ends when nobody needs the Envoy any more, and not before."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator

import pytest

from cacheroute.proxy.bootstrap import Place
from cacheroute.proxy.drain import Drained, DrainEnd, drain
from cacheroute.proxy.errors import GatewayError
from e2e.gateway_rig import DEADLINE, Rig, gateway, table

pytestmark = [pytest.mark.envoy]

QUIET = 1.0
BODY = b'{"model": "llama", "user": "alice"}'


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(1) as made:
        await made.publish(table((made.backends[0].endpoint(0),)))
        yield made


class OpenRequest:
    """A request whose body has not come whole, so that Envoy has it in hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def finish(self) -> str:
        """Send the rest and return everything that is answered until Envoy closes the connection."""
        self._writer.write(BODY[5:])
        return (await asyncio.wait_for(self._reader.read(), DEADLINE)).decode()


@contextlib.asynccontextmanager
async def open_request(rig: Rig) -> AsyncIterator[OpenRequest]:
    reader, writer = await asyncio.open_connection(rig.listen.host, rig.listen.port)
    head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"
    writer.write(head.encode() + BODY[:5])
    async with asyncio.timeout(DEADLINE):
        while await rig.stat("http.gateway.downstream_rq_active") != 1:  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.01)
    try:
        yield OpenRequest(reader, writer)
    finally:
        writer.close()


async def draining(rig: Rig, longest: float) -> asyncio.Task[Drained]:
    """Start a drain; Envoy has been told when this returns."""
    task = asyncio.create_task(asyncio.to_thread(drain, rig.admin, longest, QUIET))
    async with asyncio.timeout(DEADLINE):
        while await rig.page(rig.stats, "/ready") == "LIVE\n":  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.01)
    return task


async def test_a_running_request_is_waited_for_and_closes_its_connection(rig: Rig) -> None:
    async with open_request(rig) as request:
        task = await draining(rig, longest=60)
        done, _ = await asyncio.wait({task}, timeout=2 * QUIET)
        assert not done
        answer = await request.finish()
        drained = await asyncio.wait_for(task, DEADLINE)
    assert answer.startswith("HTTP/1.1 200 OK")
    assert "connection: close" in answer.lower()
    assert (drained.end, drained.requests) == (DrainEnd.QUIET, 0)
    assert drained.seconds > 2 * QUIET


async def test_a_request_that_comes_late_is_still_served(rig: Rig) -> None:
    task = await draining(rig, longest=60)
    answer = await rig.ask("alice")
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert (await asyncio.wait_for(task, DEADLINE)).end is DrainEnd.QUIET


async def test_a_request_without_end_does_not_hold_the_pod_for_ever(rig: Rig) -> None:
    async with open_request(rig):
        drained = await asyncio.wait_for(await draining(rig, longest=2 * QUIET), DEADLINE)
    assert (drained.end, drained.requests) == (DrainEnd.TIMEOUT, 1)


async def test_the_end_of_envoy_ends_the_drain(rig: Rig) -> None:
    async with open_request(rig):
        task = await draining(rig, longest=60)
        assert rig.envoy is not None
        rig.envoy.kill()
        assert (await asyncio.wait_for(task, DEADLINE)).end is DrainEnd.GONE


def test_without_an_envoy_there_is_nothing_to_drain() -> None:
    with pytest.raises(GatewayError, match=r"no Envoy answers at 127\.0\.0\.1:1"):
        drain(Place("127.0.0.1", 1), 60, QUIET)


async def test_the_command_waits_for_the_signal(rig: Rig) -> None:
    command = [sys.executable, "-m", "cacheroute.cli.main", "gateway", "drain"]
    options = ["--admin", f"127.0.0.1:{rig.admin.port}", "--quiet-seconds", "0.5"]
    process = await asyncio.create_subprocess_exec(
        *command, *options, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    assert b"waiting for SIGTERM" in await asyncio.wait_for(process.stdout.readline(), DEADLINE)
    assert await rig.page(rig.stats, "/ready") == "LIVE\n"
    process.send_signal(signal.SIGTERM)
    said = await asyncio.wait_for(process.stdout.read(), DEADLINE)
    assert b"no request was running or came any more" in said
    assert await process.wait() == 0
    assert await rig.page(rig.stats, "/ready") != "LIVE\n"
