"""Which keys changed destinations between two plans, and how much of the traffic that is."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from cacheroute.domain.decision import Moved
from cacheroute.domain.plan import Group, Plan
from cacheroute.domain.status import serving


def moved(before: Plan | None, after: Plan) -> Moved:
    """Compare where every key is served.

    A key counts as moved when the set of destinations that serve it differs, or when it was admitted or
    dropped. Its rate counts as far as it lands on destinations newly given to it.
    """
    if before is None:
        return Moved()
    pairs = _by_group(before, after) if before.version == after.version else _by_key(before, after)
    return _count(pairs, total_rate(after))


Pair = tuple[frozenset[str], frozenset[str], int, float]
"""Destinations before, destinations after, number of keys, their rate."""


def _by_group(before: Plan, after: Plan) -> Iterable[Pair]:
    for group in after.groups:
        yield effective(before, group), effective(after, group), len(group.keys), sum(group.rates)


def _by_key(before: Plan, after: Plan) -> Iterable[Pair]:
    former = served_by(before)
    nobody: frozenset[str] = frozenset()
    for group in after.groups:
        here = effective(after, group)
        for key, rate in zip(group.keys, group.rates, strict=True):
            yield former.pop(key, nobody), here, 1, rate
    for there in former.values():
        yield there, nobody, 1, 0.0


def _count(pairs: Iterable[Pair], total: float) -> Moved:
    keys, rate = 0, 0.0
    for before, after, count, group_rate in pairs:
        if before != after:
            keys += count
            rate += group_rate * newly_given(before, after)
    return Moved(keys=keys, rate_percent=100.0 * rate / total if total > 0 else 0.0)


def newly_given(before: AbstractSet[str], after: AbstractSet[str]) -> float:
    """Return the share of a key's rate that lands on destinations it did not have, 0..1; all share it alike."""
    return len(after - before) / max(1, len(after))


def effective(plan: Plan, group: Group) -> frozenset[str]:
    """Return who serves a group now: who fills its seats, else who fills its standbys, else nobody in particular."""
    return frozenset(serving(plan, group.seats) or serving(plan, group.standbys))


def total_rate(plan: Plan) -> float:
    """Return the request rate that the plan was made for, requests/s."""
    admitted = sum(sum(group.rates) for group in plan.groups)
    return admitted / plan.summary.coverage if plan.summary.coverage > 0 else 0.0


def served_by(plan: Plan) -> dict[str, frozenset[str]]:
    """Return for every admitted key who serves it now."""
    return {key: names for group in plan.groups for names in (effective(plan, group),) for key in group.keys}
