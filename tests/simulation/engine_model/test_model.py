"""The whole engine in virtual time."""

from dataclasses import dataclass
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.simulation.engine_model.model import EngineModel, EngineTiming, Progress
from cacheroute.simulation.engine_model.requests import EngineRequest, FinishReason, LiveRequest
from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS, RequestOverheads
from cacheroute.simulation.errors import SimulationError

BLOCK = 4
COSTS = SERVING_MODELS["70b-fp8"].costs


def request(tenant: str, prompt: int, output: int = 1) -> EngineRequest:
    """Return a request that shares blocks with those of its tenant."""
    return EngineRequest(prompt, output, [(tenant, block) for block in range((prompt + output) // BLOCK)])


def engine(limits: EngineLimits | None = None, speed: float = 1.0) -> EngineModel:
    """Return an engine with the step times of the 70B model."""
    return EngineModel(limits or EngineLimits(100, BLOCK), EngineTiming(COSTS, speed=speed))


def run_out(model: EngineModel) -> Progress:
    """Advance until nothing is left to do."""
    return model.advance(1e9)


@pytest.mark.parametrize("speed", [1.0, 20.0])
def test_the_times_of_a_request_alone(speed: float) -> None:
    model = engine(speed=speed)
    live = model.submit(request("a", 8, 3), 100.0)
    progress = run_out(model)
    prefill = (13.9 + 8 * 0.0096 + 2.9e-6 * 8 * 4 + 2.70) / 1000
    decodes = sum((13.9 + 0.0096 + 9.5e-5 * context + 2.70 + 0.0044) / 1000 for context in (8, 9))
    assert live.scheduled == pytest.approx(100.0 + 0.0156 / speed)
    assert live.first_token == pytest.approx(100.0 + (0.0156 + prefill) / speed)
    assert live.last_token == pytest.approx(100.0 + (0.0156 + prefill + decodes) / speed)
    assert live.finished == pytest.approx(live.last_token + (0.0008 + 3 * 0.000046) / speed)
    assert (progress.started, progress.finished, progress.tokens) == ([live], [live], 3)
    assert sum(seconds * times for seconds, times in progress.gaps) == pytest.approx(decodes / speed)


def test_nothing_happens_before_it_is_due() -> None:
    model = engine()
    assert model.next_event() == inf
    model.submit(request("a", 8), 1.0)
    assert model.next_event() == pytest.approx(1.0156)
    assert model.advance(1.0155) == Progress()
    assert model.state().running == 0
    model.advance(1.0156 + 1e-9)
    assert model.state().running == 1
    run_out(model)
    assert (model.next_event(), model.state().kv_usage) == (inf, 0.0)


@pytest.mark.parametrize("moment", ["arriving", "waiting", "running", "closing"])
def test_abort(moment: str) -> None:
    model = engine(EngineLimits(100, BLOCK, sequences=1))
    if moment == "waiting":
        model.submit(request("other", 8, 50), 0.0)
    live = model.submit(request("a", 8, 1), 0.0)
    now = {"arriving": 0.001, "waiting": 0.1, "running": 0.02, "closing": 0.0156 + 0.0167}[moment]
    model.advance(now)
    model.abort(live, now)
    assert (live.finish_reason, live.finished) == (FinishReason.ABORT, now)
    assert live not in run_out(model).finished
    assert model.state() == engine().state()


def test_an_abort_after_the_end_changes_nothing() -> None:
    model = engine()
    live = model.submit(request("a", 8), 0.0)
    run_out(model)
    model.abort(live, 5.0)
    assert live.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize(("prompt", "output"), [(0, 1), (1, 0), (399, 2)])
def test_what_can_never_run_is_refused(prompt: int, output: int) -> None:
    with pytest.raises(SimulationError):
        engine().submit(EngineRequest(prompt, output, ()), 0.0)


@dataclass(frozen=True)
class Arrival:
    """One request of a random load."""

    delay: float
    tenant: str
    prompt: int
    output: int


LOADS = st.lists(
    st.builds(
        Arrival,
        delay=st.sampled_from([0.0, 0.001, 0.02, 0.3]),
        tenant=st.sampled_from("abc"),
        prompt=st.integers(1, 30),
        output=st.integers(1, 12),
    ),
    min_size=1,
    max_size=12,
)
LIMITS = st.builds(
    EngineLimits,
    blocks=st.integers(11, 30),  # 42 tokens are the longest request
    block_size=st.just(BLOCK),
    batched_tokens=st.integers(1, 40),
    sequences=st.integers(1, 6),
)


def play(model: EngineModel, load: list[Arrival]) -> list[LiveRequest]:
    """Submit a load and run it out; returns its requests."""
    now, requests = 0.0, []
    for arrival in load:
        now += arrival.delay
        model.advance(now)
        requests.append(model.submit(request(arrival.tenant, arrival.prompt, arrival.output), now))
    run_out(model)
    return requests


@given(LOADS, LIMITS)
def test_every_request_ends_complete_and_in_order_of_its_times(
    load: list[Arrival], limits: EngineLimits
) -> None:
    model = engine(limits)
    for live in play(model, load):
        assert live.finish_reason is FinishReason.LENGTH
        assert live.generated == live.request.output_tokens
        assert (
            live.arrived < live.queued <= live.scheduled < live.first_token <= live.last_token < live.finished
        )
    assert model.state() == engine(limits).state()


@given(LOADS, LIMITS)
def test_cached_tokens_are_whole_blocks_and_never_the_whole_prompt(
    load: list[Arrival], limits: EngineLimits
) -> None:
    model = engine(limits)
    requests = play(model, load)
    for live in requests:
        assert live.cached_tokens % BLOCK == 0
        assert 0 <= live.cached_tokens < live.request.prompt_tokens
    assert model.counters.queries == sum(live.request.prompt_tokens for live in requests)
    assert model.counters.hits == sum(live.cached_tokens for live in requests)


@given(LOADS, LIMITS)
def test_first_come_first_scheduled(load: list[Arrival], limits: EngineLimits) -> None:
    requests = play(engine(limits), load)
    assert all(earlier.scheduled <= later.scheduled for earlier, later in pairwise(requests))


@given(LOADS, LIMITS)
def test_no_step_exceeds_the_limits(load: list[Arrival], limits: EngineLimits) -> None:
    model, now = engine(limits), 0.0
    for arrival in load:
        now += arrival.delay
        model.advance(now)
        model.submit(request(arrival.tenant, arrival.prompt, arrival.output), now)
    while (due := model.next_event()) < inf:
        progress = model.advance(due)
        assert progress.tokens <= min(limits.batched_tokens, limits.sequences)
        assert model.state().running <= limits.sequences
        assert 0.0 <= model.state().kv_usage <= 1.0


@given(LOADS, LIMITS)
def test_the_same_load_gives_the_same_times(load: list[Arrival], limits: EngineLimits) -> None:
    runs = [[live.finished for live in play(engine(limits), load)] for _ in range(2)]
    assert runs[0] == runs[1]


@given(st.integers(1, 100), st.integers(1, 20))
def test_the_same_request_twice_finds_all_but_the_end(prompt: int, output: int) -> None:
    model = engine(EngineLimits(60, BLOCK))
    model.submit(request("a", prompt, output), 0.0)
    run_out(model)
    again = model.submit(request("a", prompt, output), 1e9)
    model.advance(2e9)
    assert again.cached_tokens == (prompt - 1) // BLOCK * BLOCK


def test_overheads_can_be_left_out() -> None:
    model = EngineModel(EngineLimits(100, BLOCK), EngineTiming(COSTS, RequestOverheads(0.0, 0.0, 0.0)))
    live = model.submit(request("a", 8), 0.0)
    run_out(model)
    assert (live.scheduled, live.finished) == (0.0, live.first_token)


def test_a_repeated_prompt_counts_as_it_does_in_vllm() -> None:
    """Measured with vLLM 0.32 on a CPU: 501 tokens twice, block size 128."""
    model = engine(EngineLimits(100, block_size=128))
    prompt = EngineRequest(501, 1, range(3))
    model.submit(prompt, 0.0)
    run_out(model)
    again = model.submit(prompt, 1e9)
    model.advance(2e9)
    assert (again.cached_tokens, model.counters.queries, model.counters.hits) == (384, 1002, 384)
