import pytest

from cacheroute.domain.rates import Rates, RatesReason, RatesUnavailable
from cacheroute.prom.exposition import PlanCounters, read_counters
from cacheroute.prom.gateway import GatewayRates
from cacheroute.prom.window import CounterWindow
from tests.domain.builders import spec

PLAN = "inference/llama"


def counters(**requests: float) -> dict[str, PlanCounters]:
    return {PLAN: PlanCounters(dict(requests), prompt_tokens=10 * sum(requests.values()))}


def test_growth_needs_two_samples() -> None:
    window = CounterWindow(100)
    window.add(0, counters(a=5))
    assert window.growth(PLAN, 0, 10) is None
    window.add(10, counters(a=25, b=3))
    growth = window.growth(PLAN, 10, 10)
    assert growth is not None
    assert growth.requests == {"a": 20, "b": 3}
    assert growth.seconds == 10


def test_a_reset_counts_from_zero() -> None:
    window = CounterWindow(100)
    for time, value in ((0, 100), (1, 110), (2, 4)):
        window.add(time, counters(a=value))
    growth = window.growth(PLAN, 2, 10)
    assert growth is not None
    assert growth.requests == {"a": 14}


def test_the_window_forgets() -> None:
    window = CounterWindow(100)
    for time in range(11):
        window.add(time, counters(a=time * (1 if time < 8 else 10)))
    growth = window.growth(PLAN, 10, 2)
    assert growth is not None
    assert growth.requests == {"a": 20}
    assert growth.seconds == 2
    assert window.growth(PLAN, 50, 2) is None


def test_steps_are_dropped_after_the_longest_window() -> None:
    window = CounterWindow(5)
    for time in range(100):
        window.add(time, counters(a=time))
    growth = window.growth(PLAN, 99, 1000)
    assert growth is not None
    assert growth.seconds == 5


def test_counters_are_read_from_exposition_text() -> None:
    lines = (
        "# TYPE envoy_cacheroute_requests counter",
        'envoy_cacheroute_requests{decision="planned",plan="n/p",routing_key="a"} 3',
        'envoy_cacheroute_requests{decision="cold",plan="n/p",routing_key="a"} 2',
        r'envoy_cacheroute_requests{plan="n/\"p\\",routing_key="x{,}= 1"} 1e3',
        'envoy_cacheroute_prompt_tokens{plan="n/p",routing_key="a"} 1200',
        'envoy_cacheroute_cached_tokens{plan="n/p",routing_key="a"} 1100',
        'envoy_cluster_upstream_rq{plan="n/p"} 7',
    )
    read = read_counters("\n".join(lines))
    assert read["n/p"].requests == {"a": 5}
    assert (read["n/p"].prompt_tokens, read["n/p"].cached_tokens) == (1200, 1100)
    assert read['n/"p\\'].requests == {"x{,}= 1": 1000}


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
