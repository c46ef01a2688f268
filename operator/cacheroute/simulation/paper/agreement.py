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


def agreement(
    metric: str,
    ours: Mapping[str, float],
    papers: Mapping[str, float],
    titles: Mapping[str, str] | None = None,
) -> Agreement:
    """Compare every pair of policies that both have a value for.

    Args:
        metric: what is compared, for the words.
        ours: our values by policy.
        papers: the paper's.
        titles: of the policies, for the words; None: those of ``POLICIES``.
    """
    names = {name: one.title for name, one in POLICIES.items()} if titles is None else titles
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
            first, second = (one, two) if ours[one] > ours[two] else (two, one)
            opposite.append(
                f"{metric}: {names[first]} above {names[second]} ({ours[first]:.4g} and {ours[second]:.4g}); "
                f"in the paper below ({papers[first]:.4g} and {papers[second]:.4g})"
            )
    return Agreement(same, unseparated, tuple(opposite))
