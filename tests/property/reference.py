"""Algorithm 1 of the paper transcribed line by line, without a thought for speed; what the planner is held against."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """What the transcription gives: keys in order of admission, their destinations and standbys, and loads."""

    admitted: list[int]
    table: list[list[int]]
    standby: list[int]
    load: list[float]


def reference_plan(rates: list[float], destinations: int, capacity: float, slots: int) -> Reference:
    """Plan for a uniform fleet; sums are exact only for rates whose sums are (small multiples of a power of two)."""
    everywhere = range(destinations)
    count = [min(destinations, max(1, math.ceil(rate / capacity))) for rate in rates]
    admitted: list[int] = []
    for b in sorted(range(len(rates)), key=lambda b: (-rates[b], b)):
        if sum(count[other] for other in admitted) + count[b] <= slots:
            admitted.append(b)
    cold = sum(rates) - sum(rates[b] for b in admitted)
    load = [cold / destinations for _ in everywhere]
    table = []
    for b in admitted:
        table.append(sorted(sorted(everywhere, key=lambda r: (load[r], r))[: count[b]]))
        for r in table[-1]:
            load[r] += rates[b] / count[b]
    return Reference(admitted, table, _standbys(rates, admitted, table, load), load)


def _standbys(
    rates: list[float], admitted: list[int], table: list[list[int]], load: list[float]
) -> list[int]:
    expected = list(load)
    standby = []
    for b, own in zip(admitted, table, strict=True):
        others = [r for r in range(len(load)) if r not in own]
        if not others:
            standby.append(-1)
            continue
        standby.append(min(others, key=lambda r: (expected[r], r)))
        expected[standby[-1]] += rates[b] / len(own)
    return standby
