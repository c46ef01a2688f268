import math
from dataclasses import replace

import pytest

from cacheroute.domain.rates import Rates, RatesReason, RatesUnavailable
from cacheroute.domain.spec import RatesSpec
from cacheroute.prom.exposition import DROPPED, PROXY, Figure, PlanCounters, read_counters
from cacheroute.prom.gateway import GatewayRates
from cacheroute.prom.window import CounterWindow
from tests.domain.builders import spec

PLAN = "inference/llama"


def counters(**requests: float) -> dict[str, PlanCounters]:
    return decided({"planned": requests})


def decided(requests: dict[str, dict[str, float]]) -> dict[str, PlanCounters]:
    tokens = {
        decision: {key: 10 * value for key, value in by_key.items()} for decision, by_key in requests.items()
    }
    return {PLAN: PlanCounters(requests, tokens)}


def test_growth_needs_two_samples() -> None:
    window = CounterWindow(100)
    window.add(0, counters(a=5))
    assert window.growth(PLAN, 0, 10) is None
    window.add(10, counters(a=25, b=3))
    growth = window.growth(PLAN, 10, 10)
    assert growth is not None
    assert growth.requests == {"a": 20, "b": 3}
    assert (growth.start, growth.end) == (0, 10)


def test_a_reset_counts_from_zero() -> None:
    window = CounterWindow(100)
    for time, value in ((0, 100), (1, 110), (2, 4)):
        window.add(time, counters(a=value))
    growth = window.growth(PLAN, 2, 10)
    assert growth is not None
    assert growth.requests == {"a": 14}


def test_a_counter_that_the_proxy_drops_is_no_reset_of_the_key() -> None:
    """Envoy drops counters that rest: a key's of before its plan, or of the time when its standby answered."""
    window = CounterWindow(100)
    window.add(0, decided({"cold": {"a": 100}, "planned": {"a": 5000}}))
    window.add(1, decided({"cold": {"a": 100}, "planned": {"a": 5010}}))
    window.add(2, decided({"planned": {"a": 5020}}))
    window.add(3, decided({"cold": {"a": 1}, "planned": {"a": 5020}}))
    growth = window.growth(PLAN, 3, 10)
    assert growth is not None
    assert (growth.requests, growth.prompt_tokens) == ({"a": 21}, {"a": 210})


def test_the_window_forgets() -> None:
    window = CounterWindow(100)
    for time in range(11):
        window.add(time, counters(a=time * (1 if time < 8 else 10)))
    growth = window.growth(PLAN, 10, 2)
    assert growth is not None
    assert growth.requests == {"a": 20}
    assert (growth.start, growth.end) == (8, 10)
    assert window.growth(PLAN, 50, 2) is None


def test_steps_are_dropped_after_the_longest_window() -> None:
    window = CounterWindow(5)
    for time in range(100):
        window.add(time, counters(a=time))
    growth = window.growth(PLAN, 99, 1000)
    assert growth is not None
    assert (growth.start, growth.end) == (94, 99)


def test_keys_beyond_the_limit_count_as_unkeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cacheroute.prom.window.MAX_KEYS", 2)
    window = CounterWindow(100)
    window.add(0, counters())
    window.add(1, counters(a=1, b=2, c=3, d=4))
    growth = window.growth(PLAN, 1, 10)
    assert growth is not None
    assert growth.requests == {"a": 1, "b": 2, "": 7}


def test_counters_are_read_from_exposition_text() -> None:
    lines = (
        "# TYPE envoy_cacheroute_requests counter",
        'envoy_cacheroute_requests{decision="planned",plan="n/p",routing_key="a"} 3',
        'envoy_cacheroute_requests{decision="cold",plan="n/p",routing_key="a"} 2',
        r'envoy_cacheroute_requests{plan="n/\"p\\",routing_key="x{,}= 1"} 1e3',
        r'envoy_cacheroute_requests{decision="cold",plan="n/p",routing_key="b,plan=\"q/q\",routing_key=\"z"} 4',
        'envoy_cacheroute_requests{plan="n/p",routing_key="broken"} e',
        'envoy_cacheroute_prompt_tokens{plan="n/p",routing_key="a"} 1200',
        'envoy_cacheroute_arm_cached_tokens{arm="plan",plan="n/p"} 1100',
        'envoy_cacheroute_arm_ttft_milliseconds_bucket{arm="flat",plan="n/p",le="+Inf"} 6',
        'envoy_cacheroute_arm_ttft_milliseconds_bucket{arm="flat",plan="n/p",le="0.5"} 2',
        "envoy_server_stats_overflow_counter{} 8",
        'envoy_cluster_upstream_rq{plan="n/p"} 7',
    )
    read = read_counters("\n".join(lines))
    cold = {"a": 2, 'b,plan="q/q",routing_key="z': 4}
    assert read["n/p"].requests == {"planned": {"a": 3}, "cold": cold}
    assert read["n/p"].prompt_tokens == {"": {"a": 1200}}
    assert read["n/p"].figures == {("cached_tokens", "plan"): 1100, (math.inf, "flat"): 6, (0.5, "flat"): 2}
    assert read[PROXY].figures == {DROPPED: 8}
    assert read['n/"p\\'].requests == {"": {"x{,}= 1": 1000}}


async def test_rates_of_two_gateways_add_up() -> None:
    now = [0.0]
    rates = GatewayRates(("http://a", "http://b"), clock=lambda: now[0])
    for time in (0, 100, 200, 300):
        now[0] = float(time)
        rates.take("http://a", counters(x=time * 1.0))
        rates.take("http://b", counters(x=time * 2.0, y=time * 0.5))
    measured = await rates.fetch(spec(), 2)
    assert isinstance(measured, Rates)
    assert dict(zip(measured.keys, measured.values.tolist(), strict=True)) == pytest.approx(
        {"x": 3.0, "y": 0.5}
    )
    assert measured.prompt_tokens is not None
    assert measured.prompt_tokens.tolist() == pytest.approx([30.0, 5.0])


async def test_a_gateway_that_went_counts_for_the_whole_window_and_reports_no_more() -> None:
    now = [0.0]
    rates = GatewayRates(("http://a", "http://b"), clock=lambda: now[0])
    await rates.fetch(spec(), 2)
    for time in range(0, 301, 25):
        now[0] = float(time)
        rates.take("http://a", counters(x=time * 1.0))
        if time <= 150:
            rates.take("http://b", counters(x=time * 1.0))
    measured = await rates.fetch(spec(), 2)
    assert isinstance(measured, Rates)
    assert measured.values.tolist() == pytest.approx([1.0 + 150 / 300])
    missed = await rates.fetch(replace(spec(), rates=RatesSpec(300, min_coverage_percent=60)), 2)
    assert isinstance(missed, RatesUnavailable)
    assert (missed.reason, "1 of 2" in missed.message) == (RatesReason.PARTIAL, True)


@pytest.mark.parametrize("jump", [-600.0, 600.0])
async def test_a_clock_that_is_set_changes_no_rate(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    running, day = [0.0], [1e9]
    monkeypatch.setattr("time.time", lambda: day[0])
    rates = GatewayRates(("http://a",), clock=lambda: running[0])
    await rates.fetch(spec(), 1)
    rates.take("http://a", counters(x=0))
    running[0], day[0] = 100.0, 1e9 + 100.0 + jump
    rates.take("http://a", counters(x=1000))
    measured = await rates.fetch(spec(), 1)
    assert isinstance(measured, Rates)
    assert (measured.values.tolist(), measured.time) == ([10.0], day[0])


async def test_scrapes_are_as_many_as_the_shortest_window_needs() -> None:
    rates = GatewayRates(("http://a",), clock=lambda: 0.0)
    periods = [rates.period]
    for window in (86_400, 200, 5):
        await rates.fetch(replace(spec(), rates=RatesSpec(window)), 1)
        periods.append(rates.period)
    assert periods == [1.0, 30.0, 4.0, 1.0]


async def test_a_short_past_is_no_rate() -> None:
    now = [0.0]
    rates = GatewayRates(("http://a",), clock=lambda: now[0])
    silent = await rates.fetch(spec(), 1)
    assert isinstance(silent, RatesUnavailable)
    assert silent.reason is RatesReason.UNREACHABLE
    for time in (0.0, 1.0):
        now[0] = time
        rates.take("http://a", counters(x=time))
    young = await rates.fetch(spec(), 1)
    assert isinstance(young, RatesUnavailable)
    assert young.reason is RatesReason.PARTIAL
    now[0] = 1000.0
    old = await rates.fetch(spec(), 1)
    assert isinstance(old, RatesUnavailable)
    assert old.reason is RatesReason.STALE


async def test_arms_and_dropped_additions_of_two_gateways_add_up() -> None:
    now = [0.0]
    rates = GatewayRates(("http://a", "http://b"), clock=lambda: now[0])
    for time in (0, 100, 200, 300):
        now[0] = float(time)
        for url in ("http://a", "http://b"):
            buckets: dict[Figure, float] = {
                (100.0, "plan"): 1.0 * time,
                (200.0, "plan"): 2.0 * time,
                (math.inf, "plan"): 2.0 * time,
            }
            counted: dict[Figure, float] = {
                ("requests", "plan"): 3.0 * time,
                ("errors", "plan"): 0.3 * time,
                **buckets,
            }
            one = counters(x=time * 1.0)
            one[PLAN].figures = counted
            rates.take(url, {**one, PROXY: PlanCounters(figures={DROPPED: 5.0 * time})})
    measured = await rates.fetch(spec(), 2)
    assert isinstance(measured, Rates)
    assert measured.uncounted == pytest.approx(10)
    assert measured.arms is not None
    assert measured.arms.flat is None
    plan = measured.arms.plan
    assert plan is not None
    assert plan.hit_percent is None
    assert [plan.requests, plan.errors, plan.ttft_p50, plan.ttft_p99] == pytest.approx([1800, 180, 100, 198])
