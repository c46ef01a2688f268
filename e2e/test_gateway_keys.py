"""The scanner inside Envoy against Python's JSON parser: both must see the same model and key in any body."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cacheroute.domain.keys import KeySourceKind, canonical_key, canonical_model
from e2e.gateway_rig import SOURCES, Rig, gateway, table

pytestmark = pytest.mark.envoy

DOCUMENTS = 3000
AT_ONCE = 20
FIELDS = tuple(source.name for source in SOURCES if source.kind is KeySourceKind.BODY_FIELD)
NAMES = ("model", *FIELDS, "metadata", "user_id", "messages", "prompt")
PIECES = (
    "a",
    "B",
    "7",
    "-",
    '"',
    "\\",
    "\n",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "é",
    "ſ",
    "\u212a",
    "user",
    '"user":"x"',
    " ",
    "\U0001f600",
)
WORDS = ("llama", "LLaMA", "Alice", "org/team:", "user", "x" * 63)
PLAN = "inference/llama"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(1) as made:
        endpoint = made.backends[0].endpoint(0)
        await made.publish(table((endpoint,)), table((endpoint,), name="rest", models=("*",)))
        yield made


def text(source: random.Random) -> str:
    if source.random() < 0.5:
        return source.choice(WORDS) + source.choice(["", str(source.randint(0, 30))])
    return "".join(source.choice(PIECES) for _ in range(source.randint(0, 8)))


def value(source: random.Random, depth: int = 0) -> Any:
    kind = source.randint(0, 7)
    if kind == 0 and depth < 4:
        return {
            source.choice((*NAMES, text(source))): value(source, depth + 1)
            for _ in range(source.randint(0, 4))
        }
    if kind == 1 and depth < 4:
        return [value(source, depth + 1) for _ in range(source.randint(0, 4))]
    if kind == 2:
        return [source.randint(0, 9) for _ in range(source.randint(0, 5))]
    if kind == 3:
        return source.choice([True, None, 1.5, -3, 7])
    return text(source)


def metadata(source: random.Random) -> dict[str, Any]:
    """Return an object that often has a user_id, sometimes deeper than it is looked for."""
    inside = {"user_id": source.choice([text(source), value(source, 3), {"user_id": text(source)}])}
    return inside | {
        source.choice((*NAMES, text(source))): value(source, 2) for _ in range(source.randint(0, 2))
    }


def escaped(source: random.Random, plain: str) -> str:
    """Write a string with some of its characters as hexadecimal escapes."""
    return '"' + "".join(f"\\u{ord(one):04x}" if source.random() < 0.3 else one for one in plain) + '"'


def document(source: random.Random) -> str:
    """Return a JSON object as text, with duplicates, blanks, escapes and sometimes without its end."""
    members = [(source.choice((*NAMES, text(source))), value(source, 1)) for _ in range(source.randint(0, 6))]
    if source.random() < 0.4:
        members.insert(source.randint(0, len(members)), ("metadata", metadata(source)))
    parts = []
    for name, content in members:
        written = escaped(source, name) if name in NAMES and source.random() < 0.2 else json.dumps(name)
        indent = source.choice([None, None, 1])
        body = json.dumps(content, ensure_ascii=source.random() < 0.5, indent=indent)
        if isinstance(content, str) and content.isalnum() and source.random() < 0.3:
            body = escaped(source, content)
        parts.append(written + source.choice([":", " : "]) + body)
    whole = "{" + source.choice([",", " , \n"]).join(parts) + "}"
    return whole[: source.randint(1, len(whole) - 1)] if source.random() < 0.05 else whole


def at(members: Any, path: str) -> Any:
    """Return the member at a path; a name with a dot in it is no path."""
    for name in path.split("."):
        members = members.get(name) if isinstance(members, dict) else None
    return members


def expected(body: str) -> tuple[str, str]:
    """Return the plan and the key's label that Python's parser leads to."""
    try:
        members = json.loads(body)
    except ValueError:
        members = {}
    model = at(members, "model")
    plan = PLAN if isinstance(model, str) and canonical_model(model) == "llama" else "inference/rest"
    for field in FIELDS:
        raw = at(members, field)
        if isinstance(raw, str) and raw:
            return plan, canonical_key(raw, 64) or "!"
    return plan, ""


async def send(rig: Rig, body: str) -> None:
    answer = await rig.request("POST", "/v1/completions", data=body.encode("utf-8", "surrogatepass"))
    assert answer.decision == "cold", body


async def test_the_scanner_agrees_with_pythons_parser(rig: Rig) -> None:
    source = random.Random(7)  # noqa: S311  repeatable documents
    bodies = [document(source) for _ in range(DOCUMENTS)]
    for start in range(0, DOCUMENTS, AT_ONCE):
        await asyncio.gather(*(send(rig, body) for body in bodies[start : start + AT_ONCE]))
    counted = await rig.counted_requests(DOCUMENTS)
    seen = Counter({(plan, key): int(count) for (plan, key, _), count in counted.items()})
    wanted = Counter(expected(body) for body in bodies)
    assert len(wanted) > 50
    assert seen == wanted


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff\xfe{",
        b'{"model": "llama"',
        b'{"model": "llama\\',
        b'"' * 1000,
        b"[1," * 200_000,
        b'{"a":' * 200_000,
        b'{"user": "' + b"\\" * 500_000,
    ],
    ids=lambda body: repr(body[:12]),
)
async def test_a_hostile_body_is_only_cold(rig: Rig, body: bytes) -> None:
    answer = await rig.post(body)
    assert (answer.status, answer.decision) == (200, "cold")


async def test_a_body_of_brackets_does_not_hold_others_up(rig: Rig) -> None:
    answer = await rig.post(b'{"a":' + b"[" * 8_000_000)
    assert answer.headers["x-cacheroute-plan"] == "version-of-rest"
