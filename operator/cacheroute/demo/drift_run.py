"""`cacheroute demo --drift`: policy Paper against policy Stable while the tenants' rates drift.

Each policy gets a whole fleet of its own, one after the other: fresh engines, a fresh Envoy, an operator without a
plan, and the same requests at the same times. On one fleet the second policy would find caches that the first one had
filled, and nobody could say how much that was worth. Only ``spec.planning.policy`` differs.

Engines, tenants, prompts, caches and the rate are those of the plain demonstration. The control interval is 10 s, so
that ten of them for each policy end in five minutes: 640 requests of 900 tenants. A moved key pays one cold prefill for
each interval in which it is asked for, so a longer interval, with more requests of each tenant, lowers the loss; the
paper measured 11 to 16 points. The window of the rates is four intervals (the default is five), the longest with
which the first interval is enough for a first plan. Two intervals warm up: no plan is there in the first one, and in
the second the plan is new to every cache. With six engines a key that is planned from scratch stays where it was one
time in six by chance, so Paper moves a little less here than in the paper (92.5 to 98 %).
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from cacheroute.demo import files
from cacheroute.demo.drift import drifting_arrivals, walk
from cacheroute.demo.drift_result import DriftResult
from cacheroute.demo.drift_view import line, picture
from cacheroute.demo.fleet import Fleet, opened
from cacheroute.demo.ledger import Course, Ledger
from cacheroute.demo.load import Load, Target
from cacheroute.demo.observer import Observer
from cacheroute.demo.result import damage
from cacheroute.demo.scenario import DemoOptions
from cacheroute.demo.view import View
from cacheroute.demo.workload import Arrivals, Prompts
from cacheroute.domain.spec import PolicyName

WATCH_SECONDS = 1.0
WINDOW_INTERVALS = 4
READY_INTERVAL_SECONDS = 1
"""How often the operator tells, before the load, whether it reads the gateway's counters."""
SETUP_SECONDS = 10.0
"""About what it takes to start and to end a fleet."""
POLICIES = (PolicyName.PAPER, PolicyName.STABLE)


@dataclass(frozen=True, slots=True)
class DriftOptions:
    """What can be chosen.

    Attributes:
        demo: what the plain demonstration has too.
        interval: control interval, seconds; measured and warm seconds are multiples of it.
    """

    demo: DemoOptions
    interval: int = 10

    @property
    def course(self) -> Course:
        """The intervals."""
        demo = self.demo
        return Course(
            self.interval, round(demo.warmup_seconds / self.interval), round(demo.seconds / self.interval)
        )

    @property
    def expected_seconds(self) -> float:
        """About what a run takes."""
        return len(POLICIES) * (self.course.total + SETUP_SECONDS)

    def plan_file(self, policy: PolicyName, mode: str, interval: int) -> files.PlanFile:
        """Return the RoutingPlan to write; ``interval`` is that of the plans, seconds."""
        warm = self.demo.shape.warm_prefixes(self.demo.tenants, self.demo.engines)
        return files.PlanFile(mode, policy, interval, WINDOW_INTERVALS * self.interval, warm)

    def arrivals(self) -> Arrivals:
        """Return the requests that both policies get."""
        demo = self.demo
        share = walk(demo.tenants, self.course.intervals, demo.seed)
        return drifting_arrivals(share, demo.rate, float(self.interval), demo.seed + 1)


async def run_drift(options: DriftOptions, view: View, folder: Path) -> DriftResult:
    """Run both policies; whatever happens, every process is ended.

    Args:
        options: what was chosen.
        view: shows it.
        folder: for logs and files; it exists.

    Raises:
        DemoError: a part failed.
    """
    started, course = time.monotonic(), options.course
    view.say(
        f"comparing the policies Paper and Stable over {course.counted} control intervals of {course.seconds} s each, "
        f"after {course.warm} to warm up: about {options.expected_seconds / 60:.1f} minutes"
    )
    ledgers = {policy: await _watched(policy, options, view, folder) for policy in POLICIES}
    return DriftResult(
        stable=ledgers[PolicyName.STABLE].arm(),
        paper=ledgers[PolicyName.PAPER].arm(),
        damage=damage([record for ledger in ledgers.values() for record in ledger.everything()]),
        seconds=time.monotonic() - started,
        setup={**options.demo.document(), "intervalSeconds": options.interval, "warmIntervals": course.warm},
    )


async def _watched(policy: PolicyName, options: DriftOptions, view: View, folder: Path) -> Ledger:
    """Run one policy on a fleet of its own."""
    demo = options.demo
    ledger = Ledger(policy, options.course, demo.engines)
    home = folder / policy.lower()
    home.mkdir()
    try:
        async with opened(home, demo.engines, demo.cache_blocks, view.say) as (fleet, observer):
            await _play((ledger, options), (fleet, observer), view)
    finally:
        view.end_phase()
    arm = ledger.arm()
    view.say(
        f"policy {policy}: token hit {arm.figures.hit_percent:.1f} %, {arm.moved_percent:.1f} % of the keys moved"
    )
    return ledger


async def _play(what: tuple[Ledger, DriftOptions], parts: tuple[Fleet, Observer], view: View) -> None:
    (ledger, options), (fleet, observer) = what, parts
    demo, policy = options.demo, ledger.policy
    files.write_plan(fleet.plan_file, options.plan_file(policy, "Shadow", READY_INTERVAL_SECONDS))
    await fleet.start(observer, view.say)
    await fleet.counters_read(observer)
    target = Target(f"http://{fleet.addresses.gateway}", files.MODEL, demo.shape.answer)
    load = Load(target, Prompts(demo.shape, demo.seed), ledger.add)
    view.say(f"policy {policy}: {ledger.course.total:.0f} s at {demo.rate:g} requests/s")
    # A new spec begins a new control interval: both policies plan at the same times of the load.
    files.write_plan(fleet.plan_file, options.plan_file(policy, "Active", options.interval))
    watch = Watch(ledger, observer, view)
    watching = asyncio.create_task(watch.run())
    try:
        await load.run(policy.value, options.arrivals())
        fleet.check()
    finally:
        watching.cancel()
    watch.tell(ledger.course.intervals)


class Watch:
    """Takes every plan and shows the intervals."""

    def __init__(self, ledger: Ledger, observer: Observer, view: View) -> None:
        self._ledger, self._observer, self._view = ledger, observer, view
        self._told = 0

    async def run(self) -> None:
        """Watch until cancelled."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            seconds = time.monotonic() - began
            self._ledger.see(seconds, await self._observer.plan())
            if self._view.live:
                self._view.draw(picture(self._ledger, seconds))
            self.tell(self._ledger.course.at(seconds - WATCH_SECONDS))

    def tell(self, ended: int) -> None:
        """Without a terminal, print a line for each interval that has ended."""
        while not self._view.live and self._told < ended:
            self._view.say(line(self._ledger.row(self._told), self._ledger))
            self._told += 1
