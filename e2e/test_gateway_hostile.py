"""Every row of the table of hostile requests on a real Envoy: what it gets, and what it is counted as."""

import asyncio
import contextlib
import json
from collections import Counter
from http import HTTPStatus

import pytest

from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.table import TableGroup
from cacheroute.proxy.settings import GatewaySettings, JwtProvider
from e2e.gateway_rig import DEADLINE, RESERVED, SOURCES, Rig, gateway, table
from e2e.hostile_requests import BODY_LIMIT, CLOSED, CORP, HOSTILE, Expected

pytestmark = pytest.mark.envoy

AT_ONCE = 8
CLAIM = KeySource(KeySourceKind.JWT_CLAIM, "tenant", "corp")
LLAMA = (TableGroup((0,), (), ("alice",)), TableGroup((1,), (), ("bob",)))
QWEN = (TableGroup((2,), (), ("carol",)),)


async def exchange(rig: Rig, request: bytes, *, incomplete: bool = False) -> bytes:
    """Send bytes on a connection of their own and return all that comes back; end one that is ``incomplete``."""
    reader, writer = await asyncio.open_connection(rig.listen.host, rig.listen.port)
    try:
        async with asyncio.timeout(DEADLINE):
            sending = asyncio.create_task(send(writer, request, incomplete=incomplete))
            answer = await everything(reader)
            await sending
    finally:
        writer.close()
    return answer


async def send(writer: asyncio.StreamWriter, request: bytes, *, incomplete: bool) -> None:
    """Send; a gateway that refuses a request may close the connection before it has all."""
    with contextlib.suppress(OSError):
        writer.write(request)
        await writer.drain()
        if incomplete:
            writer.write_eof()


async def everything(reader: asyncio.StreamReader) -> bytes:
    content = bytearray()
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            content += piece
    return bytes(content)


def understood(answer: bytes) -> Expected:
    """Return what came of a request, as far as its answer tells."""
    while answer.startswith(b"HTTP/1.1 100 "):
        answer = answer.partition(b"\r\n\r\n")[2]
    head, _, _ = answer.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = dict(one.split(": ", 1) for one in rest if ": " in one)
    status = int(line.split()[1]) if line else CLOSED
    return Expected(status, headers.get(f"{RESERVED}destination", ""), headers.get(f"{RESERVED}decision", ""))


def problems(case: str, answer: bytes, expected: Expected) -> list[str]:
    """Return what is wrong with an answer."""
    got = understood(answer)
    wrong = []
    if (got.status, got.decision) != (expected.status, expected.decision):
        wrong.append(f"{case}: {got} instead of {expected}")
    elif expected.destination and got.destination != expected.destination:
        wrong.append(f"{case}: {got.destination} instead of {expected.destination}")
    if not expected.destination and expected.decision and got.destination not in {"pod-0", "pod-1"}:
        wrong.append(f"{case}: another plan's {got.destination}")
    if answer.count(b"HTTP/1.1 ") - answer.count(b"HTTP/1.1 100 ") > 1:
        wrong.append(f"{case}: answered more than once")
    if got.status == expected.status and got.status >= HTTPStatus.BAD_REQUEST:
        wrong.extend(shape_problems(case, answer))
    return wrong


def shape_problems(case: str, answer: bytes) -> list[str]:
    """Return what is wrong with an error; what Envoy says to bytes that are no HTTP has no body."""
    body = answer.partition(b"\r\n\r\n")[2]
    if not body or b"transfer-encoding" in answer.lower():
        return []
    return [] if "message" in json.loads(body)["error"] else [f"{case}: {body!r}"]


async def check(
    rig: Rig, case: str, request: bytes, expected: Expected, turns: asyncio.Semaphore
) -> list[str]:
    """Send a row's request when it is its turn, and return what is wrong with the answer."""
    async with turns:
        try:
            answer = await exchange(rig, request, incomplete=expected.status == CLOSED)
        except TimeoutError:
            return [f"{case}: no answer in {DEADLINE} s"]
    return problems(case, answer, expected)


async def test_every_hostile_request_gets_what_is_documented() -> None:
    corp = JwtProvider(name="corp", issuer=CORP.name, jwks=CORP.jwks)
    async with gateway(3, wanted=GatewaySettings(max_body_bytes=BODY_LIMIT, jwt=(corp,))) as rig:
        *some, last = (backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
        sources = (CLAIM, *SOURCES)
        await rig.publish(
            table(tuple(some), LLAMA, sources=sources),
            table((last,), QWEN, name="qwen", models=("qwen",), sources=sources),
        )
        turns = asyncio.Semaphore(AT_ONCE)
        found = await asyncio.gather(*(check(rig, case, *row, turns) for case, row in HOSTILE.items()))
        assert [problem for some in found for problem in some] == []
        keys = Counter(expected.key for _, expected in HOSTILE.values() if expected.key is not None)
        counted = await rig.counted_requests(keys.total())
        seen: Counter[str] = Counter()
        for (_, key, _), count in counted.items():
            seen[key] += int(count)
        assert seen == keys
