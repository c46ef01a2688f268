"""What a replay says of traffic whose answer is known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.sweep import Workers
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.shadow.bootstrap import difference_of_hits, ratio_of_tails
from cacheroute.simulation.shadow.page import page
from cacheroute.simulation.shadow.replay import Answer, Question, ask
from cacheroute.simulation.shadow.verdict import document, keys_that_gain, verdict
from cacheroute.simulation.workloads.arrivals import Arrivals, arrivals
from cacheroute.simulation.workloads.rates import highest_shares
from cacheroute.simulation.workloads.tenants import Prompts, tenants

QUESTION = Question(
    4,
    "8b-bf16",
    objective=0.12,
    capacity=40.0,
    interval_seconds=5.0,
    window_seconds=20.0,
    kv_tokens=40_000,
    seeds=3,
)
NAMES = tuple(f"tenant-<{n}>" for n in range(40))


def work(prompts: Prompts) -> Work:
    random = np.random.default_rng(0)
    times = arrivals(Arrivals.POISSON, 40.0, 30.0, random)
    return tenants(times, highest_shares(40), prompts, random)


@cache
def answer(*, shared: bool) -> Answer:
    prompts = Prompts(0, 1600, 0, 1, 48, 8) if shared else Prompts(0, 0, 0, 1, 1648, 8)
    return ask(QUESTION, work(prompts), Workers(jobs=1))


def test_affinity_is_worth_it_where_keys_share_long_prefixes() -> None:
    found = answer(shared=True)
    assert found.hit_gain.low > 5.0
    assert found.planned.capacity.value > found.flat.capacity.value
    assert found.planned.destinations.value <= found.flat.destinations.value
    assert verdict(found).startswith("Affinity is worth it here: ")


def test_affinity_is_not_worth_it_where_nothing_is_shared() -> None:
    found = answer(shared=False)
    assert found.hit_gain == (0.0, 0.0, 0.0)
    assert not verdict(found).startswith("Affinity is worth it")
    assert keys_that_gain(found, NAMES) == []


def test_the_result_is_the_same_over_processes() -> None:
    again = ask(QUESTION, work(Prompts(0, 1600, 0, 1, 48, 8)), Workers(jobs=2))
    assert document(again, NAMES, 0) == document(answer(shared=True), NAMES, 0)


def test_keys_gain_what_is_found_more_for_them() -> None:
    found = answer(shared=True)
    keys = keys_that_gain(found, NAMES, most=40)
    assert sum(key.saved for key in keys) >= int(found.planned.cached.sum() - found.flat.cached.sum())
    assert [key.saved for key in keys] == sorted((key.saved for key in keys), reverse=True)


def test_the_page_holds_everything_and_trusts_no_name() -> None:
    text = page(answer(shared=True), NAMES, 3, "access.jsonl")
    assert text.count("<svg") == 3
    assert verdict(answer(shared=True)).split(":")[0] in text
    assert "tenant-&lt;" in text
    assert "tenant-<" not in text
    assert "3 requests were longer" in text


def test_intervals_hold_the_value() -> None:
    random = np.random.default_rng(0)
    prompt = np.full(4000, 1000)
    one, two = random.integers(0, 500, 4000), random.integers(200, 700, 4000)
    gain = difference_of_hits(prompt, one, two)
    assert gain.low < gain.value < gain.high
    assert gain.value == pytest.approx(20.0, abs=1.0)
    waits = random.exponential(1.0, 4000)
    ratio = ratio_of_tails(waits, 2 * waits)
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((2.0, 2.0, 2.0))


def test_nonsense_is_refused() -> None:
    requests = work(Prompts())
    with pytest.raises(SimulationError, match="no engine is called 'gpt'"):
        ask(replace(QUESTION, engine="gpt", kv_tokens=4000), requests, Workers(jobs=1))
    with pytest.raises(SimulationError, match="one moment only"):
        ask(QUESTION, requests._replace(arrival=np.zeros(requests.arrival.size)), Workers(jobs=1))
