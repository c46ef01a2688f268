"""The load that each of several policies holds, found side by side: what one round asks for is simulated together."""

from collections.abc import Callable, Mapping, Sequence

from cacheroute.simulation.experiments.cell import Outcome
from cacheroute.simulation.experiments.ladder import holds

PRECISION = 1.2
"""Capacities are found to 20 %."""
SLOWEST, FASTEST = 1.0 / 64.0, 64.0
"""Times the load that is tried first."""
Asked = tuple[str, float]
"""Policy, and factor on the load that is tried first."""
Run = Callable[[Sequence[Asked]], Sequence[Outcome]]


def knees(policies: Sequence[str], run: Run, objective: float) -> dict[str, tuple[float, str]]:
    """Return for each policy the largest factor that holds, and "<" or "≥" where it lies beyond what was tried.

    Args:
        policies: names.
        run: simulates what is asked for.
        objective: limit on the 99th percentile of the time to the first token, seconds.
    """
    tried: dict[str, dict[float, bool]] = {policy: {} for policy in policies}
    while asked := [
        (policy, factor) for policy in policies if (factor := following(tried[policy])) is not None
    ]:
        for (policy, factor), outcome in zip(asked, run(asked), strict=True):
            tried[policy][factor] = holds(outcome.figures, objective)
    return {policy: _knee(found) for policy, found in tried.items()}


def following(tried: Mapping[float, bool]) -> float | None:
    """Return which factor to try next: doubled or halved until one holds and one does not, then between; None at the end."""
    good, bad = [one for one, held in tried.items() if held], [one for one, held in tried.items() if not held]
    if not tried:
        return 1.0
    if not good:
        return min(bad) / 2 if min(bad) / 2 >= SLOWEST else None
    low = max(good)
    above = [one for one in bad if one > low]
    if not above:
        return 2 * low if 2 * low <= FASTEST else None
    high = min(above)
    return float((low * high) ** 0.5) if high / low > PRECISION else None


def _knee(tried: Mapping[float, bool]) -> tuple[float, str]:
    good = [one for one, held in tried.items() if held]
    if not good:
        return min(tried), "<"
    return max(good), "≥" if all(held for one, held in tried.items() if one >= max(good)) else ""
