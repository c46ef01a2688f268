"""The simulated vLLM server as a real process, over HTTP."""

import asyncio
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

COMMAND = (sys.executable, "-m", "cacheroute.cli.main", "engine")
DEADLINE = 20.0
LONG = {"prompt": "long", "max_tokens": 4000, "ignore_eos": True}


@dataclass
class Engine:
    """A running server and a client for it."""

    process: asyncio.subprocess.Process
    client: aiohttp.ClientSession

    async def post(self, body: Mapping[str, Any], path: str = "/v1/completions") -> Any:
        """Send a request and return the decoded answer, which must be a success."""
        async with self.client.post(path, json=body) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def stream(self, body: Mapping[str, Any], path: str = "/v1/completions") -> list[Any]:
        """Send a streamed request and return its chunks; the stream must end with [DONE]."""
        async with self.client.post(path, json={**body, "stream": True}) as answer:
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            events = (await answer.text()).split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""]
        return [orjson.loads(event.removeprefix("data: ")) for event in events[:-2]]

    async def metrics(self) -> dict[str, float]:
        """Return the samples of a scrape, summed over labels."""
        async with self.client.get("/metrics") as answer:
            text = await answer.text()
        totals: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
        return totals

    async def until(self, condition: Callable[[Mapping[str, float]], bool]) -> None:
        """Wait until the metrics fulfil a condition."""
        async with asyncio.timeout(DEADLINE):
            while not condition(await self.metrics()):  # noqa: ASYNC110 - the other side is a process
                await asyncio.sleep(0.02)

    async def ended(self) -> tuple[int, bytes]:
        """Wait for the process to end; returns its exit code and standard error."""
        async with asyncio.timeout(DEADLINE):
            _, errors = await self.process.communicate()
        return self.process.returncode or 0, errors


@asynccontextmanager
async def serving(*flags: str) -> AsyncIterator[Engine]:
    """Run a server on a port of its own; it is killed at the end if it still runs."""
    pipe = asyncio.subprocess.PIPE
    words = (*COMMAND, "--host", "127.0.0.1", "--port", "0", *flags)
    process = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), DEADLINE)).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, f"no address in {line!r}"
        async with aiohttp.ClientSession(found[0]) as client:
            yield Engine(process, client)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with serving("--speed", "50", "--max-model-len", "8000") as running:
        yield running


async def test_usage_tells_what_was_cached(engine: Engine) -> None:
    body = {"model": "simulated", "prompt": "x" * 4 * 100, "max_tokens": 5}
    first, second = await engine.post(body), await engine.post(body)
    nothing = {"created_cache_tokens": None, "multimodal_tokens": None}
    assert first["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "total_tokens": 105,
        "prompt_tokens_details": {"cached_tokens": 0, **nothing},
        "completion_tokens_details": None,
    }
    assert second["usage"]["prompt_tokens_details"] == {"cached_tokens": 96, **nothing}
    assert first["choices"] == second["choices"]
    assert first["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", {"prompt": "tell me", "max_tokens": 30}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "tell me"}], "max_tokens": 30}),
    ],
)
async def test_a_stream_says_the_same_as_one_piece(
    engine: Engine, path: str, body: Mapping[str, Any]
) -> None:
    whole = await engine.post(body, path)
    chunks = await engine.stream({**body, "stream_options": {"include_usage": True}}, path)
    choices = [chunk["choices"][0] for chunk in chunks[:-1]]
    if "chat" in path:
        text = "".join(choice["delta"]["content"] for choice in choices)
        assert whole["choices"][0]["message"].items() >= {"role": "assistant", "content": text}.items()
        assert choices[0]["delta"]["role"] == "assistant"
    else:
        assert whole["choices"][0]["text"] == "".join(choice["text"] for choice in choices)
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["length"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"] == 30


async def test_a_stream_has_usage_only_on_request(engine: Engine) -> None:
    chunks = await engine.stream({"prompt": "a", "max_tokens": 3})
    assert all(chunk["choices"] and "usage" not in chunk for chunk in chunks)


async def test_usage_flags() -> None:
    async with serving("--enable-force-include-usage", "--no-enable-prompt-tokens-details") as engine:
        chunks = await engine.stream({"prompt": "a", "max_tokens": 3})
        assert chunks[-1]["usage"] == {"prompt_tokens": 1, "total_tokens": 4, "completion_tokens": 3}


async def test_headers_of_a_stream_come_before_the_first_token() -> None:
    async with (
        serving("--speed", "0.02") as engine,
        engine.client.post(
            "/v1/completions", json={"prompt": "a", "stream": True, "max_tokens": 1}
        ) as answer,
    ):
        assert answer.status == 200
        assert (await engine.metrics())["vllm:generation_tokens_total"] == 0


async def test_metrics_agree_with_the_answers() -> None:
    async with serving("--speed", "50", "--num-gpu-blocks-override", "60", "--block-size", "8") as engine:
        bodies = [
            {"prompt": f"{number // 6}" * 4 * 90, "max_tokens": 4, "cache_salt": f"{number // 3}"}
            for number in range(60)
        ]
        answers = await asyncio.gather(*(engine.post(body) for body in bodies))
        metrics = await engine.metrics()
    cached = sum(answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in answers)
    assert 0 < cached < 60 * 88
    assert cached == metrics["vllm:prefix_cache_hits_total"] == metrics["vllm:prompt_tokens_cached_total"]
    assert metrics["vllm:prefix_cache_queries_total"] == metrics["vllm:prompt_tokens_total"] == 60 * 90
    assert metrics["vllm:generation_tokens_total"] == 60 * 4
    assert metrics["vllm:request_success_total"] == metrics["vllm:time_to_first_token_seconds_count"] == 60


async def test_an_answer_takes_its_time() -> None:
    async with serving("--speed", "2") as engine:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await engine.post({"prompt": "a", "max_tokens": 20})
        # 20 steps of 16.7 ms or more and 16.4 ms of overhead, at twice the speed.
        assert loop.time() - before >= (20 * 0.0167 + 0.0164) / 2


async def test_a_client_that_goes_away_frees_the_engine(engine: Engine) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(engine.post(LONG), 0.2)
    await engine.until(lambda metrics: metrics["vllm:request_success_total"] == 1)
    assert (await engine.metrics())["vllm:num_requests_running"] == 0


@pytest.mark.parametrize(
    ("path", "data", "status", "message"),
    [
        ("/v1/completions", b'{"model": "other", "prompt": "a"}', 404, "`other`"),
        ("/v1/chat/completions", b'{"model": "other", "messages": [{"role": "user"}]}', 404, "`other`"),
        ("/v1/completions", b"{", 400, "Invalid JSON"),
        ("/v1/completions", b'{"prompt": "' + b"a" * 40_000 + b'"}', 400, "8000 tokens"),
        ("/v1/completions", b'{"prompt": "' + b"a" * 17 * 2**20 + b'"}', 413, "exceeds"),
    ],
)
async def test_refusals_have_openai_shape(
    engine: Engine, path: str, data: bytes, status: int, message: str
) -> None:
    async with engine.client.post(path, data=data) as answer:
        body = await answer.json()
    assert (answer.status, body["error"]["code"]) == (status, status)
    assert message in body["error"]["message"]


async def test_what_probes_and_clients_ask(engine: Engine) -> None:
    for path in ("/health", "/ping"):
        async with engine.client.get(path) as answer:
            assert answer.status == 200
    async with engine.client.get("/v1/models") as answer:
        (card,) = (await answer.json())["data"]
    assert (card["id"], card["max_model_len"]) == ("simulated", 8000)
    async with engine.client.get("/version") as answer:
        assert "+cacheroute." in (await answer.json())["version"]


@pytest.mark.parametrize(("wished", "kept"), [("trace-7", True), ("x" * 200, False), ("\u00e9", False)])
async def test_the_id_of_a_request_is_the_clients_if_it_is_sane(
    engine: Engine, wished: str, *, kept: bool
) -> None:
    headers, body = {"X-Request-Id": wished}, {"prompt": "a", "max_tokens": 1}
    async with engine.client.post("/v1/completions", json=body, headers=headers) as answer:
        assert ((await answer.json())["id"] == f"cmpl-{wished}") is kept


async def test_served_names() -> None:
    async with serving("--model", "m", "--served-model-name", "one", "--served-model-name", "two") as engine:
        for name in ("one", "two"):
            assert (await engine.post({"model": name, "prompt": "a", "max_tokens": 1}))["model"] == name
        async with engine.client.post("/v1/completions", json={"model": "m", "prompt": "a"}) as answer:
            assert answer.status == 404


async def running(engine: Engine, body: Mapping[str, Any], requests: int = 1) -> "asyncio.Task[list[Any]]":
    """Start a stream and wait until the engine works on so many requests."""
    task = asyncio.create_task(engine.stream(body))
    await engine.until(lambda metrics: metrics["vllm:num_requests_running"] == requests)
    return task


async def status(engine: Engine, body: Mapping[str, Any]) -> int:
    """Return the HTTP status of an answer in one piece."""
    async with engine.client.post("/v1/completions", json=body) as answer:
        return answer.status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_loses_what_runs(number: signal.Signals) -> None:
    async with serving() as engine:
        whole = asyncio.create_task(status(engine, LONG))
        stream = await running(engine, LONG, requests=2)
        engine.process.send_signal(number)
        error = (await stream)[-1]["error"]
        assert (error["type"], error["code"]) == ("InternalServerError", 500)
        assert await whole == 500
        assert await engine.ended() == (0, b"")


async def test_with_a_shutdown_timeout_running_requests_finish_and_new_ones_are_aborted() -> None:
    async with serving("--shutdown-timeout", "15") as engine:
        stream = await running(engine, {"prompt": "a", "max_tokens": 60, "ignore_eos": True})
        engine.process.terminate()
        late: Any = {"choices": [{"finish_reason": None}]}
        async with asyncio.timeout(DEADLINE):  # the signal may take a moment to arrive
            while late["choices"][0]["finish_reason"] != "abort":
                late = await engine.post({"prompt": "late", "max_tokens": 1})
        async with engine.client.get("/health") as answer:
            assert answer.status == 200
        chunks = await stream
        assert chunks[-1]["choices"][0]["finish_reason"] == "length"
        assert sum(len(chunk["choices"][0]["text"]) for chunk in chunks) == 4 * 60
        assert await engine.ended() == (0, b"")


@pytest.mark.parametrize("signals", [1, 2])
async def test_a_drain_ends_with_its_timeout_whatever_signals_come(signals: int) -> None:
    async with serving("--shutdown-timeout", "1.5") as engine:
        stream = await running(engine, LONG)
        for _ in range(signals):
            engine.process.terminate()
            await until_draining(engine)
        assert (await stream)[-1]["error"]["code"] == 500
        assert await engine.ended() == (0, b"")


async def until_draining(engine: Engine) -> None:
    """Wait until new requests are answered as aborted."""
    async with asyncio.timeout(DEADLINE):
        while (await engine.post({"prompt": "a"}))["choices"][0]["finish_reason"] != "abort":
            pass


async def refused(*flags: str) -> tuple[int, str]:
    """Run a server that must not start; returns its exit code and standard error."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*COMMAND, *flags, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(DEADLINE):
        _, errors = await process.communicate()
    return process.returncode or 0, errors.decode()


async def test_a_bad_flag_is_one_line() -> None:
    code, errors = await refused("--engine-model", "gpt-9")
    assert (code, errors.count("\n")) == (2, 1)
    assert "--engine-model gpt-9 is not known; use one of: 8b-bf16, 70b-fp8, 70b-fp16" in errors


async def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = await refused("--host", "127.0.0.1", "--port", str(port))
    assert (code, errors.count("\n")) == (1, 1)
    assert f"cannot listen on 127.0.0.1:{port}" in errors
