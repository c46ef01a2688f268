"""Token-level replay: against a plain simulation, and the quirks of the trace paper's routing study."""

import heapq
from collections import OrderedDict
from dataclasses import replace as changed

import numpy as np
import pytest
from joblib import Parallel, delayed

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.replay.figures import Figures, figures
from cacheroute.simulation.replay.kernel import Columns, Routed
from cacheroute.simulation.replay.replay import ReplaySettings, columns_of, replay, route
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy, choose
from cacheroute.simulation.routing.view import Request, memory, view
from cacheroute.simulation.struct import pointer
from cacheroute.simulation.traces.trace import UNKNOWN, Trace
from tests.simulation.replay.made import conversations


def plainly(columns: Columns, settings: ReplaySettings) -> Routed:
    """Replay with ordered dictionaries instead of the kernel's lists."""
    size, count = columns.arrival.size, settings.destinations
    caches: list[OrderedDict[int, int]] = [OrderedDict() for _ in range(count)]
    fleet = view(np.full(count, settings.cache_tokens))
    known = memory(count, int(columns.key.max()) + 1, settings.seed)
    flight: list[tuple[float, int, int, int]] = []
    routed = Routed(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
    for i in range(size):
        now, session = float(columns.arrival[i]), int(columns.session[i])
        prompt, output = int(columns.prompt[i]), int(columns.output[i])
        while flight and flight[0][0] <= now:
            _, at, tokens, missing = heapq.heappop(flight)
            fleet.running[at] -= 1
            fleet.tokens[at] -= tokens
            fleet.used[at] -= tokens
            fleet.prefill[at] -= missing
        for r, cache in enumerate(caches):
            fleet.match[r] = min(cache.get(session, 0), prompt)
        request = Request(now, int(columns.key[i]), session, prompt, output)
        r = int(choose(settings.policy.value, pointer(known), pointer(fleet), request))
        routed.destination[i], routed.hit[i] = r, fleet.match[r]
        fleet.running[r] += 1
        fleet.tokens[r] += prompt + output
        fleet.used[r] += prompt + output
        missing = prompt - int(routed.hit[i])
        fleet.prefill[r] += missing
        heapq.heappush(flight, (now + float(columns.duration[i]), r, prompt + output, missing))
        caches[r].pop(session, None)
        caches[r][session] = prompt + output
        while sum(caches[r].values()) > settings.cache_tokens and len(caches[r]) > 1:
            caches[r].popitem(last=False)
        fleet.cached[r] = sum(caches[r].values())
    return routed


@pytest.mark.parametrize("policy", [one for one in Policy if one is not Policy.PLANNED])
@pytest.mark.parametrize("cache", [0, 3_000, 20_000, 10_000_000])
def test_the_kernel_does_what_a_plain_simulation_does(policy: Policy, cache: int) -> None:
    trace = conversations(seed=cache)
    settings = ReplaySettings(policy, destinations=4, cache_tokens=cache, seed=7)
    columns = columns_of(trace, settings.seconds_per_output_token)
    assert replay(trace, settings) == figures(columns, plainly(columns, settings), 4)


def run(policy: Policy, cache: int, trace: Trace | None = None) -> Figures:
    made = conversations(sessions=300, users=60, seconds=600.0) if trace is None else trace
    return replay(made, ReplaySettings(policy, destinations=8, cache_tokens=cache))


def test_the_newest_entry_stays_although_it_alone_is_too_large() -> None:
    """So with caches smaller than any request cache_first still finds the turn before, if nothing came between."""
    lone = conversations(sessions=1, turns=5, users=1)
    found = run(Policy.CACHE_FIRST, 1, lone)
    assert found.request_hit == pytest.approx(4 / 5)
    assert found.replication == 1.0


def test_who_keeps_sessions_together() -> None:
    large, small = 1_000_000, 5_000
    assert run(Policy.USER_STICKY, large).replication == run(Policy.CACHE_FIRST, large).replication == 1.0
    assert run(Policy.CACHE_FIRST, small).replication > 1.5
    for blind in (Policy.ROUND_ROBIN, Policy.LOAD_FIRST):
        assert run(blind, large).replication > 3
        assert run(blind, large).token_hit < 0.5 * run(Policy.CACHE_FIRST, large).token_hit
    assert run(Policy.USER_STICKY, large).max_over_mean > run(Policy.CACHE_FIRST, large).max_over_mean


def test_a_fleet_of_small_caches_is_used_whole_by_cache_first_only() -> None:
    assert run(Policy.CACHE_FIRST, 20_000).token_hit > run(Policy.USER_STICKY, 20_000).token_hit + 0.05


def test_requests_without_key_or_session_have_their_own() -> None:
    trace = conversations()
    lost = changed(trace, session=np.full(trace.size, UNKNOWN), key=np.full(trace.size, UNKNOWN, np.int32))
    assert run(Policy.CACHE_FIRST, 1_000_000, lost).request_hit == 0.0


def planned(planner: Planner, trace: Trace, **more: float) -> Figures:
    plan = PlanSettings(planner, capacity=1.0, warm=64, interval_seconds=60.0, **more)
    return replay(trace, ReplaySettings(Policy.PLANNED, 8, 1_000_000, plan=plan))


@pytest.mark.parametrize("planner", list(Planner))
def test_a_plan_keeps_keys_together(planner: Planner) -> None:
    trace = conversations(sessions=300, users=60, seconds=600.0)
    assert planned(planner, trace).token_hit > run(Policy.FLAT, 1_000_000).token_hit + 0.1


def test_load_is_even_only_where_the_plan_looks_at_it() -> None:
    trace = conversations(sessions=600, users=200, seconds=900.0)
    paper, hashed = planned(Planner.PAPER, trace), planned(Planner.AFFINITY, trace)
    assert paper.max_over_mean < hashed.max_over_mean - 0.2


def test_a_plan_never_knows_the_future() -> None:
    """Other keys after the end of an interval change nothing before it, and do change what comes after."""
    trace = conversations(sessions=300, users=60, seconds=600.0)
    past = trace.arrival < 240.0
    later = changed(trace, key=np.where(past, trace.key, (trace.key + 17) % 60).astype(np.int32))
    settings = ReplaySettings(Policy.PLANNED, 8, 1_000_000, plan=PlanSettings(Planner.STABLE, 1.0, 64))
    here, there = (route(one, settings)[1].destination for one in (trace, later))
    assert here[past].tolist() == there[past].tolist()
    assert here.tolist() != there.tolist()


def test_the_result_is_the_same_in_every_process() -> None:
    trace = conversations()
    settings = [
        ReplaySettings(policy, 5, 8_000, seed=seed)
        for policy in (Policy.FLAT, Policy.PRODUCTION)
        for seed in (1, 2)
    ]
    here = [replay(trace, one) for one in settings]
    assert Parallel(n_jobs=2)(delayed(replay)(trace, one) for one in settings) == here
    assert here[0] != here[1]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SimulationError, match="0 destinations"):
        replay(conversations(), ReplaySettings(Policy.FLAT, 0, 10))
    with pytest.raises(SimulationError, match="policy planned"):
        replay(conversations(), ReplaySettings(Policy.PLANNED, 4, 10))


def test_an_empty_trace_has_figures() -> None:
    trace = conversations()
    nothing = trace.take(np.zeros(trace.size, dtype=bool))
    assert run(Policy.FLAT, 10, nothing).requests == 0
