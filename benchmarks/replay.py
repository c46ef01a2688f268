"""How long the simulators take: a million requests of token replay, and the table of the 70B model."""

import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.runner import Result, compare, machine
from cacheroute.simulation.experiments.sweep import Workers, sweep
from cacheroute.simulation.paper.calibration import calibration
from cacheroute.simulation.paper.tables import SIX, table_1
from cacheroute.simulation.replay.eviction import Algorithm, find
from cacheroute.simulation.replay.replay import ReplaySettings, replay
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.year.workload import V32, make

_REQUESTS = 1_000_000
_DESTINATIONS, _TOKENS = 20, 100_000
_CORES = 2


def token_replay(policy: Policy) -> Result:
    """Replay a million requests over 20 destinations on one core; the trace is made before."""
    trace = make(V32, _REQUESTS, 0)
    settings = ReplaySettings(policy, _DESTINATIONS, _TOKENS)
    return compare(
        f"token-replay-1m-{policy.name.lower().replace('_', '-')}",
        lambda: replay(trace, settings),
        ("libCacheSim: LRU in one cache, same requests", lambda: find(trace, Algorithm.LRU, _TOKENS)),
        {"requests": trace.size, "destinations": _DESTINATIONS},
    )


def table_of_70b() -> Result:
    """Simulate 6 policies x 10 loads x 5 seeds on two cores, once, nothing of it known before."""
    study = replace(table_1(calibration()), policies=SIX)
    cells = study.cells()
    sweep(cells[:1], Workers(jobs=1))
    began = time.perf_counter()
    ran = sweep(cells, Workers(jobs=_CORES))
    wall = time.perf_counter() - began
    processor = sum(one.seconds for one in ran)
    return Result(
        name="fleet-table-70b",
        value=round(wall, 1),
        unit="s",
        baseline=round(processor, 1),
        baseline_name="processor seconds of the simulations alone",
        ratio=round(wall / processor, 3),
        runs=[round(wall, 1)],
        machine=machine(),
        more={"simulations": len(cells), "processes": _CORES},
    )


BENCHMARKS: dict[str, Callable[[], Result]] = {
    "token-replay-1m-load-first": lambda: token_replay(Policy.LOAD_FIRST),
    "token-replay-1m-cache-first": lambda: token_replay(Policy.CACHE_FIRST),
    "fleet-table-70b": table_of_70b,
}
