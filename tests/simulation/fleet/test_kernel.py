"""Every engine of a compiled fleet does exactly what the engine model does."""

from dataclasses import dataclass

import numpy as np
import pytest

from cacheroute.simulation.engine_model.model import EngineModel, EngineTiming
from cacheroute.simulation.engine_model.requests import EngineRequest, LiveRequest
from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS, RequestOverheads
from cacheroute.simulation.fleet.kernel import advance, run
from cacheroute.simulation.fleet.state import State, Work, state, timing
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.routing.view import memory, view
from cacheroute.simulation.struct import pointer

COSTS = SERVING_MODELS["70b-fp8"].costs


@dataclass(frozen=True)
class Case:
    """Random requests that share prefixes, on engines of these limits."""

    limits: EngineLimits
    requests: int = 120
    rate: float = 40.0
    prefixes: int = 4
    seed: int = 0


CASES = (
    Case(EngineLimits(blocks=4000)),
    Case(EngineLimits(blocks=60), seed=1),
    Case(EngineLimits(blocks=60, batched_tokens=48, sequences=5), seed=2),
    Case(EngineLimits(blocks=24, block_size=4), requests=300, rate=400.0, prefixes=1, seed=3),
    Case(EngineLimits(blocks=40, block_size=8, batched_tokens=64), requests=400, rate=300.0, seed=4),
)


def work(case: Case, keys: int = 1) -> Work:
    """Return requests that begin with one of a few prefixes and have a tail of their own, or a shared one."""
    random, size = np.random.default_rng(case.seed), case.limits.block_size
    room = case.limits.tokens // 3
    prompt = random.integers(1, max(2, room), case.requests)
    output = random.integers(1, max(2, room // 3), case.requests)
    chains = []
    for i in range(case.requests):
        blocks = -(-int(prompt[i] + output[i]) // size)
        shared = int(random.integers(0, blocks + 1))
        prefix = 10_000 * int(random.integers(0, case.prefixes)) + np.arange(shared)
        chains.append(np.concatenate((prefix, 1_000_000 * (i + 1) + np.arange(blocks - shared))))
    return Work(
        arrival=np.cumsum(random.exponential(1 / case.rate, case.requests)),
        key=random.integers(0, keys, case.requests),
        session=np.arange(case.requests),
        prompt=prompt,
        output=output,
        first_block=np.cumsum([0, *map(len, chains)]),
        contents=np.concatenate(chains).astype(np.int64),
    )


def compiled(requests: Work, case: Case, engines: int, policy: Policy) -> State:
    """Run the fleet to its end."""
    fleet = view(np.full(engines, case.limits.tokens))
    made = state(requests, engines, case.limits, timing(COSTS, RequestOverheads()))
    known = memory(engines, int(requests.key.max()) + 1, seed=5)
    run(policy.value, pointer(known), pointer(fleet), pointer(made), 0, case.requests)
    advance(pointer(made), pointer(fleet), 1e9)
    assert fleet.running.tolist() == fleet.tokens.tolist() == fleet.prefill.tolist() == [0] * engines
    return made


def modelled(requests: Work, case: Case, chosen: np.ndarray) -> list[LiveRequest]:
    """Run the chosen requests through one engine model."""
    model = EngineModel(case.limits, EngineTiming(COSTS))
    lives = []
    for i in chosen.tolist():
        model.advance(float(requests.arrival[i]))
        full = int(requests.prompt[i] + requests.output[i]) // case.limits.block_size
        first = int(requests.first_block[i])
        hashes = requests.contents[first : first + full].tolist()
        asked = EngineRequest(int(requests.prompt[i]), int(requests.output[i]), hashes)
        lives.append(model.submit(asked, float(requests.arrival[i])))
    model.advance(1e9)
    return lives


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("engines", [1, 3])
def test_engines_agree_with_the_model_to_the_bit(case: Case, engines: int) -> None:
    requests = work(case, keys=20)
    made = compiled(requests, case, engines, Policy.ROUND_ROBIN)
    for r in range(engines):
        chosen = np.flatnonzero(made.done.destination == r)
        lives = modelled(requests, case, chosen)
        assert [live.first_token for live in lives] == made.done.first_token[chosen].tolist()
        assert [live.finished for live in lives] == made.done.finished[chosen].tolist()
        assert [live.cached_tokens for live in lives] == made.done.cached[chosen].tolist()
        assert [live.preemptions for live in lives] == made.done.preemptions[chosen].tolist()


def test_the_cases_are_hard_enough() -> None:
    """They evict, preempt, and find prefixes."""
    done = [compiled(work(case), case, 1, Policy.FLAT).done for case in CASES]
    assert sum(int(one.preemptions.sum()) for one in done) > 20
    assert all(int(one.cached.sum()) > 0 for one in done)


@pytest.mark.parametrize("policy", list(Policy))
def test_every_policy_serves_every_request(policy: Policy) -> None:
    case = CASES[0]
    done = compiled(work(case, keys=7), case, 4, policy).done
    assert np.isfinite(done.finished).all()
    assert (done.first_token <= done.finished).all()


def test_routers_that_look_at_caches_find_more() -> None:
    case = Case(EngineLimits(blocks=120), requests=600, rate=15.0, prefixes=12)
    requests = work(case, keys=7)
    hits = {
        policy: int(compiled(requests, case, 6, policy).done.cached.sum())
        for policy in (Policy.FLAT, Policy.CACHE_FIRST)
    }
    assert hits[Policy.CACHE_FIRST] > 1.2 * hits[Policy.FLAT]
