"""Algorithm 1 of the paper transcribed line by line, without a thought for speed; what the planner is held against."""

import math


def reference_plan(
    rates: list[float], destinations: int, capacity: float, slots: int, cold: float
) -> tuple[dict[int, list[int]], list[float]]:
    """Return T: key → destinations, and L: load of each destination, which starts at ``cold``."""
    count = {b: min(destinations, max(1, math.ceil(rate / capacity))) for b, rate in enumerate(rates)}
    order = sorted(count, key=lambda b: (-rates[b], b))
    admitted, used = [], 0
    for b in order:
        if used + count[b] <= slots:
            admitted.append(b)
            used += count[b]
    load = [cold] * destinations
    table: dict[int, list[int]] = {}
    for b in admitted:
        chosen = sorted(sorted(range(destinations), key=lambda r: (load[r], r))[: count[b]])
        table[b] = chosen
        for r in chosen:
            load[r] += rates[b] / count[b]
    return table, load
