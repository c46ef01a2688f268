"""Several plans on one real gateway: adapters as models, plans that share destinations, and clear errors for the rest."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cacheroute.domain.table import RoutingTable, TableGroup, farewell_table
from e2e.gateway_rig import RESERVED, Answer, Rig, gateway, table

pytestmark = pytest.mark.envoy

ADAPTERS = ("llama", "sql-lora", "acme/chat-lora:v2@2026")
"""A base model and its LoRA adapters, which the same engines serve."""
NO_MODELS = (
    "gpt",
    "sql-lora2",
    "sql",
    "qwen",
    "m/llama",
    "p/inference/qwen/alice",
    "none",
    "!",
    "*",
    "llama ",
    "ll\u00e1ma",
)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with gateway(3) as made:
        await made.publish(*plans(made))
        yield made


def plans(rig: Rig) -> tuple[RoutingTable, RoutingTable, RoutingTable]:
    """Return three plans; the first two share their destinations, but not where a key goes. The last has none."""
    first, second, third = (backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
    return (
        table((first, second), (TableGroup((0,), (1,), ("alice",)),), "adapters", ADAPTERS),
        table((first, second, third), (TableGroup((1,), (0,), ("alice",)),), "qwen", ("Qwen/Qwen3-32B",)),
        table((), (TableGroup((0,), (), ("alice",)),), "empty", ("empty",)),
    )


def place(answer: Answer) -> tuple[int, str | None, str | None, str]:
    return answer.status, answer.destination, answer.decision, answer.headers[f"{RESERVED}plan"]


def error(answer: Answer) -> dict[str, Any]:
    """Return an OpenAI error."""
    assert answer.headers["content-type"] == "application/json"
    document = json.loads(answer.text)
    assert document.keys() == {"error"}
    assert document["error"].keys() == {"message", "type", "param", "code"}
    assert document["error"]["code"] == answer.status
    return dict(document["error"])


async def test_adapters_of_one_plan_are_routed_by_the_same_plan_whatever_their_case(rig: Rig) -> None:
    for model in (*ADAPTERS, "SQL-LoRA", "Acme/Chat-LoRA:v2@2026"):
        answer = await rig.post({"model": model, "user": "alice"})
        assert place(answer) == (200, "pod-0", "planned", "version-of-adapters"), model


async def test_a_key_goes_where_the_plan_of_its_model_says(rig: Rig) -> None:
    by_model = {
        model: await rig.post({"model": model, "user": "alice"}) for model in ("llama", "qwen/qwen3-32b")
    }
    assert place(by_model["llama"]) == (200, "pod-0", "planned", "version-of-adapters")
    assert place(by_model["qwen/qwen3-32b"]) == (200, "pod-1", "planned", "version-of-qwen")
    counted = await rig.counted_requests(2)
    assert counted == {
        ("inference/adapters", "alice", "planned"): 1,
        ("inference/qwen", "alice", "planned"): 1,
    }


async def test_a_model_without_destinations_is_a_clear_503_and_others_are_served(rig: Rig) -> None:
    for user in ("alice", "stranger"):
        answer = await rig.post({"model": "empty", "user": user})
        assert answer.status == 503
        told = error(answer)
        assert told["type"] == "service_unavailable"
        assert "No destination of this model is up" in told["message"]
    assert (await rig.post({"model": "llama", "user": "alice"})).status == 200


async def test_a_model_that_is_not_quite_one_is_a_clear_404(rig: Rig) -> None:
    for model in NO_MODELS:
        answer = await rig.post({"model": model, "user": "alice"})
        assert answer.status == 404, model
        told = error(answer)
        assert told["type"] == "invalid_request_error"
        assert "No such model" in told["message"]


async def test_a_request_that_names_no_model_is_a_clear_400(rig: Rig) -> None:
    for body in ({"user": "alice"}, {"model": "", "user": "alice"}, {"model": 7}, {"model": None}):
        answer = await rig.post(body)
        assert answer.status == 400, body
        assert "names no model" in error(answer)["message"]


async def test_a_plan_for_any_model_beside_others_takes_the_rest_and_those_without_a_model(rig: Rig) -> None:
    adapters, qwen, _ = plans(rig)
    rest = table((rig.backends[2].endpoint(0),), (TableGroup((0,), (), ("alice",)),), "rest", ("*",))
    await rig.publish(adapters, qwen, rest)
    for body in ({"model": "gpt"}, {"model": "sql-lora2"}, {}, {"model": ""}):
        answer = await rig.post({**body, "user": "alice"})
        assert place(answer) == (200, "pod-2", "planned", "version-of-rest"), body
    assert (await rig.post({"model": "sql-lora", "user": "alice"})).destination == "pod-0"
    await rig.publish(adapters, qwen, table((), (), "rest", ("*",)))
    assert (await rig.post({"model": "gpt", "user": "alice"})).status == 503
    assert (await rig.post({"model": "sql-lora", "user": "alice"})).status == 200


async def test_a_deleted_plans_models_go_to_who_claims_them_next(rig: Rig) -> None:
    adapters, qwen, empty = plans(rig)
    heir = table(qwen.endpoints, (TableGroup((2,), (), ("alice",)),), "heir", ("sql-lora",))
    await rig.publish(farewell_table(adapters, (heir,)), qwen, empty, heir)
    assert place(await rig.post({"model": "sql-lora", "user": "alice"}))[1:] == (
        "pod-2",
        "planned",
        "version-of-heir",
    )
    assert (await rig.post({"model": "llama", "user": "alice"})).decision == "cold"


async def test_of_two_that_claim_a_model_the_first_serves_it(rig: Rig) -> None:
    adapters, qwen, _ = plans(rig)
    thief = table(qwen.endpoints, (TableGroup((2,), (), ("alice",)),), "thief", ("sql-lora", "mine"))
    await rig.publish(adapters, qwen, thief)
    assert (await rig.post({"model": "sql-lora", "user": "alice"})).destination == "pod-0"
    assert (await rig.post({"model": "mine", "user": "alice"})).destination == "pod-2"
