"""Whether two sources order policies alike."""

import math
from collections.abc import Mapping
from itertools import combinations

from cacheroute.simulation.experiments.policies import POLICIES
from cacheroute.simulation.paper.study import Agreement

TIE = 0.05
"""Two values that differ by less, relative to the larger, are not separated."""


def direction(one: float, two: float) -> int:
    """Return 1 where ``one`` is larger, -1 where ``two`` is, 0 where they are not separated."""
    if one == two or math.isnan(one) or math.isnan(two):
        return 0
    if math.isinf(one) or math.isinf(two):
        return 1 if one > two else -1
    if abs(one - two) <= TIE * max(abs(one), abs(two)):
        return 0
    return 1 if one > two else -1


def agreement(metric: str, ours: Mapping[str, float], papers: Mapping[str, float]) -> Agreement:
    """Compare every pair of policies that both have a value for.

    Args:
        metric: what is compared, for the words.
        ours: our values by policy.
        papers: the paper's.
    """
    same, unseparated, opposite = 0, 0, []
    for one, two in combinations([name for name in papers if name in ours], 2):
        theirs, here = direction(papers[one], papers[two]), direction(ours[one], ours[two])
        if theirs == 0:
            continue
        if here == 0:
            unseparated += 1
        elif here == theirs:
            same += 1
        else:
            opposite.append(_words(metric, (one, two), ours, papers))
    return Agreement(same, unseparated, tuple(opposite))


def _words(metric: str, pair: tuple[str, str], ours: Mapping[str, float], papers: Mapping[str, float]) -> str:
    one, two = pair if ours[pair[0]] > ours[pair[1]] else pair[::-1]
    return (
        f"{metric}: {POLICIES[one].title} above {POLICIES[two].title} ({ours[one]:.4g} and {ours[two]:.4g}); "
        f"in the paper below ({papers[one]:.4g} and {papers[two]:.4g})"
    )
