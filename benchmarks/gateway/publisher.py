"""A process that plans and serves xDS as the operator does, on command: its memory is the operator's.

Reads one JSON object a line (``Order``) and answers each with one (``Done``); its first line is the port of xDS.
"""

import asyncio
import dataclasses
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import structlog

from cacheroute.domain.fleet import Destination, Fleet, Pool
from cacheroute.domain.interval import next_plan
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates
from cacheroute.domain.spec import PlanningSpec, PlanRef, PlanSpec
from cacheroute.domain.table import routing_table
from cacheroute.proxy.compile import compile_tables
from cacheroute.proxy.server import AdsServer
from cacheroute.proxy.snapshot import ROUTES
from cacheroute.proxy.tuning import Tuning

GATEWAY = "bench"
SIGMA, DRIFT = 1.65, 0.3
"""Spread of the keys' rates, and of one interval's change (benchmarks/planner.py)."""
TRAFFIC = 70.0
UTILISATION = 0.9
HEADROOM = 1.5
"""Slots over keys, so that every key is admitted."""
_DEADLINE = 120.0
_EAGER = PlanningSpec(max_imbalance_percent=1, rewarm_budget_percent=100)
"""So that every drift of the rates changes the plan."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to plan and publish.

    Attributes:
        keys: how many are planned, ``tenant-0000000`` and so on.
        destinations: address and port of each.
        models: of the plan.
        sources: kind and name of each key source, in order.
        seed: of the rates' drift: another seed moves keys.
    """

    keys: int
    destinations: list[tuple[str, int]]
    models: list[str]
    sources: list[tuple[str, str]]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """What it took, seconds.

    Attributes:
        plan: to plan.
        compile: to compile and offer it.
        ack: from then until Envoy had acknowledged everything.
        groups: virtual hosts of keys.
        admitted: keys with destinations.
        moved: keys that got another virtual host than before.
        route_bytes: of the route table.
    """

    plan: float
    compile: float
    ack: float
    groups: int
    admitted: int
    moved: int
    route_bytes: int


class Publisher:
    """Keeps the plan in force."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self.ads = AdsServer(lambda _gateway: self._changed.set())
        self._plan: Plan | None = None

    async def carry_out(self, order: Order) -> Done:
        """Plan, publish, and wait until the one proxy has it."""
        start = time.perf_counter()
        spec, fleet = _spec(order), _fleet(order)
        before = _places(self._plan)
        self._plan = next_plan(spec, self._plan, fleet, _rates(order), time.time()) if order.keys else None
        table = routing_table(spec, self._plan, fleet)
        planned = time.perf_counter()
        self.ads.publish(GATEWAY, [table])
        offered = time.perf_counter()
        await self._synced()
        acknowledged = time.perf_counter()
        after = _places(self._plan)
        routes = compile_tables([table], Tuning()).snapshot.of(ROUTES)
        return Done(
            plan=planned - start,
            compile=offered - planned,
            ack=acknowledged - offered,
            groups=len(table.groups),
            admitted=len(after),
            moved=sum(before.get(key, place) != place for key, place in after.items()),
            route_bytes=sum(len(one.frame) for one in routes.values()),
        )

    async def _synced(self) -> None:
        async with asyncio.timeout(_DEADLINE):
            while self.ads.status(GATEWAY).synced != 1:
                self._changed.clear()
                await self._changed.wait()


def _places(plan: Plan | None) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    return {key: (group.seats, group.standbys) for group in plan.groups for key in group.keys} if plan else {}


def _spec(order: Order) -> PlanSpec:
    count = len(order.destinations)
    pool = Pool("pool", TRAFFIC / (UTILISATION * count), int(HEADROOM * order.keys / count) + 1)
    sources = tuple(KeySource(KeySourceKind(kind), name) for kind, name in order.sources)
    ref, models = PlanRef("bench", "plan"), tuple(order.models)
    return PlanSpec(ref, 1, 0.0, GATEWAY, models, (pool,), sources, planning=_EAGER)


def _fleet(order: Order) -> Fleet:
    return Fleet(
        tuple(
            Destination(f"pod-{number:04d}", address, port, "pool")
            for number, (address, port) in enumerate(order.destinations)
        )
    )


def _rates(order: Order) -> Rates:
    values = np.random.default_rng(0).lognormal(0.0, SIGMA, order.keys)
    values *= np.exp(DRIFT * np.random.default_rng(order.seed).standard_normal(order.keys))
    keys = tuple(f"tenant-{number:07d}" for number in range(order.keys))
    return Rates(keys, values * TRAFFIC / values.sum(), 0.0, 0.0, time.time())


async def _serve() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    publisher = Publisher()
    _answer({"port": await publisher.ads.start("127.0.0.1:0")})
    while line := await asyncio.to_thread(sys.stdin.readline):
        _answer(dataclasses.asdict(await publisher.carry_out(Order(**json.loads(line)))))
    await publisher.ads.stop()


def _answer(document: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(document)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve())
