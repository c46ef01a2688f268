"""What clients that never end their requests may take of a real Envoy: time and memory."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from cacheroute.proxy.tuning import Tuning
from e2e.gateway_rig import DEADLINE, Answer, Rig, gateway, table

pytestmark = pytest.mark.envoy

MB = 1024 * 1024
HEAP, BODY = 256 * MB, 7 * MB


@contextlib.asynccontextmanager
async def unfinished(rig: Rig, size: int) -> AsyncIterator[asyncio.StreamReader]:
    """Send a request whose body of ``size`` bytes lacks its end."""
    reader, writer = await asyncio.open_connection(rig.listen.host, rig.listen.port)
    head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {size + 1}\r\n\r\n".encode()
    try:
        with contextlib.suppress(OSError):  # it may have been refused already
            writer.write(head + b"x" * size)
            await asyncio.wait_for(writer.drain(), DEADLINE)
        yield reader
    finally:
        writer.close()


def resident(rig: Rig) -> int:
    """Return the bytes of memory that Envoy has."""
    assert rig.envoy is not None
    status = Path(f"/proc/{rig.envoy.pid}/status").read_text("utf-8")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


async def asked(rig: Rig) -> Answer | None:
    """Ask on a connection of its own; None where it was closed."""
    with contextlib.suppress(aiohttp.ClientError):
        return await rig.ask("alice")
    return None


async def test_bodies_that_never_end_are_refused_before_memory_does() -> None:
    async with gateway(1, max_heap_bytes=HEAP) as rig, contextlib.AsyncExitStack() as slow:
        await rig.publish(table((rig.backends[0].endpoint(0),)))
        peak, refused = 0, list[Answer]()
        for _ in range(120):  # 840 MB
            await slow.enter_async_context(unfinished(rig, BODY))
            peak, answer = max(peak, resident(rig)), await asked(rig)
            refused.extend([answer] if answer and answer.status != 200 else [])
        assert peak < 1.75 * HEAP
        error = json.loads(refused[0].text)["error"]
        assert (refused[0].status, error["type"]) == (503, "server_error")
        assert "overloaded" in error["message"]
        assert await rig.page(rig.stats, "/ready") == "LIVE\n"
        await slow.aclose()
        async with asyncio.timeout(DEADLINE):
            while not (answer := await asked(rig)) or answer.status != 200:  # noqa: ASYNC110  as elsewhere
                await asyncio.sleep(0.05)


async def test_a_request_must_be_whole_in_time_and_its_answer_need_not() -> None:
    async with gateway(1, tuning=Tuning(request_seconds=1)) as rig:
        await rig.publish(table((rig.backends[0].endpoint(0),)))
        late = {"wait": 2.5, "text": "{}"}
        long = {"events": [{"choices": []}] * 5, "pause": 0.5}
        async with unfinished(rig, 1000) as reader:
            answers = await asyncio.gather(rig.ask("alice", say=late), rig.ask("alice", say=long))
            assert [answer.status for answer in answers] == [200, 200]
            assert answers[1].text.count("data:") == 5
            assert b" 408 " in await asyncio.wait_for(reader.readline(), DEADLINE)
