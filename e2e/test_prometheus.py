"""Rates from a real Prometheus, and what is made of answers that no Prometheus should give."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.spec import PlanRef
from cacheroute.prom import source
from cacheroute.prom.gateway import GatewayRates
from cacheroute.prom.source import PrometheusOptions, PrometheusRates
from e2e.prometheus_rig import SPEC, Counters, Prometheus, answering, exporting, prometheus, spec, until

HOSTILE = PlanRef("inference", 'a"} or up\\ or {x="\nb')
RATES = {
    ("inference/llama", "tenant-b"): 40.0,
    ("inference/llama", "tenant-a"): 80.0,
    ("inference/llama", ""): 20.0,
    ("inference/llama", "!"): 20.0,
    ("inference/other", "tenant-a"): 500.0,
    (str(HOSTILE), "tenant-h"): 60.0,
}
MANY_KEYS = 130_000
Script = Callable[[asyncio.StreamWriter], Awaitable[None]]


def reason(outcome: RatesOutcome) -> RatesReason:
    return outcome.reason if isinstance(outcome, RatesUnavailable) else RatesReason.MEASURED


@pytest.fixture
async def counters() -> AsyncIterator[Counters]:
    async with exporting(Counters(RATES)) as served:
        yield served


@pytest.fixture
async def server(counters: Counters, tmp_path: Path) -> AsyncIterator[Prometheus]:
    async with prometheus(tmp_path, counters) as running:
        yield running


async def test_rates_of_every_key_of_one_plan(server: Prometheus) -> None:
    rates = server.rates()
    close = pytest.approx([80.0, 40.0], rel=0.1)
    outcome = await until(
        lambda: rates.fetch(spec(), 1),
        lambda one: (
            isinstance(one, Rates) and one.keys == ("tenant-a", "tenant-b") and one.values.tolist() == close
        ),
    )
    assert isinstance(outcome, Rates)
    assert [outcome.unkeyed, outcome.rejected] == pytest.approx([40.0, 20.0], rel=0.1)
    assert outcome.served is not None
    assert outcome.served.hit_percent == pytest.approx(40.0, abs=0.5)
    hostile = await until(lambda: rates.fetch(spec(HOSTILE), 1), lambda one: isinstance(one, Rates))
    assert isinstance(hostile, Rates)
    assert hostile.keys == ("tenant-h",)


async def test_both_arms_and_dropped_additions_are_measured_by_both_sources(
    server: Prometheus, counters: Counters
) -> None:
    counters.dropped = 30.0
    alone = GatewayRates((counters.url,))
    scraping = asyncio.create_task(alone.run())
    try:
        for rates in (server.rates(), alone):
            await until(lambda source=rates: source.fetch(spec(), 1), complete)  # type: ignore[misc]
    finally:
        scraping.cancel()


def complete(outcome: RatesOutcome) -> bool:
    """Tell whether both arms are as the counters have them."""
    if not isinstance(outcome, Rates) or outcome.arms is None:
        return False
    plan, flat = outcome.arms.plan, outcome.arms.flat
    if plan is None or flat is None or plan.hit_percent is None or None in (plan.ttft_p50, flat.ttft_p99):
        return False
    seen = [plan.requests, flat.requests, plan.ttft_p50, plan.ttft_p99, flat.ttft_p50, flat.ttft_p99]
    return bool(
        seen == pytest.approx([720, 80, 75, 99.5, 300, 398], rel=0.15)
        and [plan.hit_percent, plan.error_percent, outcome.uncounted] == pytest.approx([40, 1, 30], rel=0.15)
    )


async def test_every_lack_has_its_reason_and_passes(server: Prometheus, counters: Counters) -> None:
    rates = server.rates()

    async def reaches(wanted: RatesReason, proxies: int = 1, plan: PlanRef = SPEC.ref) -> None:
        await until(lambda: rates.fetch(spec(plan), proxies), lambda one: reason(one) is wanted)

    await reaches(RatesReason.MEASURED)
    await reaches(RatesReason.EMPTY, plan=PlanRef("inference", "nobody"))
    await reaches(RatesReason.PARTIAL, proxies=3)
    counters.live = False
    await reaches(RatesReason.STALE)
    counters.live = True
    await reaches(RatesReason.MEASURED)
    assert reason(await server.rates(path="/elsewhere").fetch(spec(), 1)) is RatesReason.REFUSED


async def test_a_prometheus_that_hangs_or_ends(server: Prometheus) -> None:
    patient, hasty = server.rates(), server.rates(timeout_seconds=0.5)
    await until(lambda: patient.fetch(spec(), 1), lambda one: isinstance(one, Rates))
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    assert reason(await hasty.fetch(spec(), 1)) is RatesReason.TIMEOUT
    assert time.monotonic() - began < 3
    server.process.send_signal(signal.SIGCONT)
    await until(lambda: patient.fetch(spec(), 1), lambda one: isinstance(one, Rates))
    server.process.terminate()
    await server.process.wait()
    ended = await patient.fetch(spec(), 1)
    assert isinstance(ended, RatesUnavailable)
    assert ended.reason is RatesReason.UNREACHABLE
    assert "Connection refused" in ended.message


async def test_the_same_counters_without_prometheus(counters: Counters) -> None:
    rates = GatewayRates((counters.url,))
    scraping = asyncio.create_task(rates.run())
    try:
        outcome = await until(
            lambda: rates.fetch(spec(), 1),
            lambda one: (
                isinstance(one, Rates) and one.values.tolist() == pytest.approx([80.0, 40.0], rel=0.1)
            ),
        )
        assert isinstance(outcome, Rates)
        assert outcome.keys == ("tenant-a", "tenant-b")
    finally:
        scraping.cancel()


async def test_a_page_that_comes_in_many_parts_is_read_whole() -> None:
    many = {("inference/llama", f"tenant-{number:06d}"): 5.0 for number in range(MANY_KEYS)}
    async with exporting(Counters(many)) as served:
        rates = GatewayRates((served.url,))
        scraping = asyncio.create_task(rates.run())
        try:
            outcome = await until(lambda: rates.fetch(spec(), 1), lambda one: isinstance(one, Rates))
        finally:
            scraping.cancel()
    assert isinstance(outcome, Rates)
    assert len(outcome.keys) == MANY_KEYS


def says(body: object, status: str = "200 OK") -> Script:
    """Answer with a body; what is no text is sent as JSON."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()

    async def script(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()

    return script


def drips(first: bytes) -> Script:
    """Answer a byte now and then, without end."""

    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    return script


def result(value: object, **more: object) -> dict[str, object]:
    return {"status": "success", "data": {"resultType": "vector", "result": value}, **more}


def sample(value: str, key: str = "a") -> dict[str, object]:
    return {"metric": {"routing_key": key}, "value": [1.0, value]}


ONE = [sample("3")]
ANSWERS: dict[str, tuple[Script, RatesReason]] = {
    "good": (says(result(ONE)), RatesReason.MEASURED),
    "remark of newer versions": (says(result(ONE, infos=["PromQL info: a name"])), RatesReason.MEASURED),
    "remark of 2.50": (says(result(ONE, warnings=["PromQL info: a name"])), RatesReason.MEASURED),
    "warning": (says(result(ONE, warnings=["remote read failed"])), RatesReason.PARTIAL),
    "nothing": (says(result([])), RatesReason.STALE),
    "not a number": (says(result([sample("NaN")])), RatesReason.MALFORMED),
    "endless": (says(result([sample("+Inf")])), RatesReason.MALFORMED),
    "several": (says(result([sample("1"), sample("2", "b")])), RatesReason.MALFORMED),
    "no JSON": (says("<html>sign in</html>"), RatesReason.MALFORMED),
    "cut JSON": (says('{"status":"success","data":{"res'), RatesReason.MALFORMED),
    "deep JSON": (says("[" * 200_000), RatesReason.MALFORMED),
    "list": (says([1, 2]), RatesReason.MALFORMED),
    "text": (says(json.dumps("up")), RatesReason.MALFORMED),
    "no data": (says({"status": "success"}), RatesReason.MALFORMED),
    "scalar": (says(result([1.0, "3"])), RatesReason.MALFORMED),
    "matrix": (says(result([{"metric": {}, "values": [[1.0, "3"]]}])), RatesReason.MALFORMED),
    "odd warnings": (says(result(ONE, warnings=7)), RatesReason.MALFORMED),
    "bad query": (says({"status": "error", "error": "parse error"}, "400 Bad Request"), RatesReason.REFUSED),
    "not allowed": (says("", "401 Unauthorized"), RatesReason.REFUSED),
    "too much": (says({"status": "error"}, "422 Unprocessable Entity"), RatesReason.REFUSED),
    "broken": (says("oops", "500 Internal Server Error"), RatesReason.REFUSED),
    "busy": (says("", "503 Service Unavailable"), RatesReason.REFUSED),
    "elsewhere": (says("", "302 Found\r\nLocation: http://127.0.0.1:9/"), RatesReason.REFUSED),
    "no HTTP": (drips(b"SSH-2.0-OpenSSH\r\n"), RatesReason.UNREACHABLE),
    "dripping body": (drips(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), RatesReason.TIMEOUT),
    "dripping headers": (drips(b"HTTP/1.1 200 OK\r\nX-Header: "), RatesReason.TIMEOUT),
    "endless body": (drips(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 200_000), RatesReason.MALFORMED),
    "half a body": (says("", "200 OK\r\nContent-Length: 50\r\nX-Rest: 1"), RatesReason.UNREACHABLE),
}
"""What a server answers → what is made of it."""


@pytest.mark.parametrize("name", ANSWERS)
async def test_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script, wanted = ANSWERS[name]
    monkeypatch.setattr(source, "MAX_ANSWER_BYTES", 150_000 if name == "endless body" else 10_000_000)
    async with answering(script) as url:
        rates = PrometheusRates(PrometheusOptions(url, timeout_seconds=0.7))
        began = time.monotonic()
        outcome = await rates.fetch(spec(), 1)
    assert reason(outcome) is wanted, outcome
    assert time.monotonic() - began < 3
    if isinstance(outcome, RatesUnavailable):
        assert url in outcome.message
        assert "\n" not in outcome.message
        assert len(outcome.message) < 400


async def test_credentials_are_sent_and_never_shown(tmp_path: Path) -> None:
    heard: list[str] = []
    token = tmp_path / "token"
    token.write_text("secret-token\n", "ascii")
    async with answering(says("", "401 Unauthorized"), heard) as url:
        with_token = PrometheusOptions(url, bearer_token_file=token)
        with_password = PrometheusOptions(url.replace("//", "//user:password@"))
        outcomes = [await PrometheusRates(each).fetch(spec(), 1) for each in (with_token, with_password)]
    assert "Authorization: Bearer secret-token\r\n" in heard[0]
    assert "Authorization: Basic " in heard[1]
    assert not [one for one in outcomes if "secret" in repr(one) or "password" in repr(one)]


async def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    options = PrometheusOptions("http://127.0.0.1:9", bearer_token_file=tmp_path / "absent")
    outcome = await PrometheusRates(options).fetch(spec(), 1)
    assert isinstance(outcome, RatesUnavailable)
    assert "absent" in outcome.message
