"""The plans in force one after the other, as the operator shows them, and whether answers went where they say."""

import json
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Self

from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document
from e2e.system.streams import Stream

EVERY_SECONDS = 0.1


class PlanHistory:
    """Reads the plan in force again and again while it runs, and keeps each one that differs."""

    def __init__(self, place: str) -> None:
        """Take HOST:PORT/PATH of the plan at the operator."""
        self.plans: list[Plan] = []
        self._place = place
        self._stop = threading.Event()

    @contextmanager
    def recording(self) -> Iterator[Self]:
        """Record while the block runs; the thread has the network of the one that starts it."""
        thread = threading.Thread(target=self._record, name="plans")
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()

    def moved_beyond_the_plan(self) -> list[str]:
        """Return the steps between two plans in which more keys got other seats than the later plan says."""
        steps = ((former, later, _reseated(former, later)) for former, later in pairwise(self.plans))
        return [
            f"{former.version} -> {later.version}: {count} keys, {later.summary.keys_moved} said"
            for former, later, count in steps
            if count > (later.summary.keys_moved if former.version != later.version else 0)
        ]

    def unexplained(self, streams: Iterable[Stream]) -> list[Stream]:
        """Return the planned answers from a destination that never had a seat of their key in their plan."""
        allowed: dict[tuple[str, str], set[str]] = defaultdict(set)
        for plan in self.plans:
            names = {seat.index: seat.destination for seat in plan.seats if seat.destination}
            for group in plan.groups:
                for key in group.keys:
                    allowed[plan.version, key].update(names[seat] for seat in group.seats if seat in names)
        return [
            one
            for one in streams
            if one.decision == "planned" and one.destination not in allowed[one.version, one.tenant]
        ]

    def _record(self) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            try:
                with urllib.request.urlopen(f"http://{self._place}", timeout=5) as answer:
                    plan = from_document(json.load(answer))
            except OSError:
                continue
            if not self.plans or self.plans[-1].revision != plan.revision:
                self.plans.append(plan)


def _reseated(former: Plan, later: Plan) -> int:
    """Return how many keys have other seats in the later plan, admitted and dropped ones among them."""
    before, after = _seats(former), _seats(later)
    return sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())


def _seats(plan: Plan) -> dict[str, tuple[int, ...]]:
    return {key: group.seats for group in plan.groups for key in group.keys}
