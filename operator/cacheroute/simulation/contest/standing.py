"""Where `Stable` stands among the other policies on one workload, and whether the diagnosis fits."""

from collections.abc import Mapping
from dataclasses import dataclass

from cacheroute.simulation.experiments.policies import POLICIES

CAPACITY_MARGIN = 0.1
"""Relative: one step of the search, 19 %, counts."""
HIT_MARGIN = 1.0
"""Points."""
TAIL_MARGIN = 0.25
"""Relative: worst tenants' tails scatter by so much from seed to seed where nothing happens."""
STABLE, FLAT = "stable", "flat"


@dataclass(frozen=True, slots=True)
class Figures:
    """One policy on one workload.

    Attributes:
        capacity: requests/s at the objective, None where one load only was tried.
        hit: prompt tokens from caches at the common load, percent.
        tail: 99th percentile of the time to the first token there, seconds.
        worst: the largest 99th percentile of a key there, seconds; 0 where no key has enough requests.
        sign: "<" or "≥" where the capacity lies beyond what was tried.
    """

    capacity: float | None
    hit: float
    tail: float
    worst: float
    sign: str = ""

    @property
    def judged_tail(self) -> float:
        """That of the worst key; of all requests where no key has enough."""
        return self.worst or self.tail


@dataclass(frozen=True, slots=True)
class Standing:
    """What is judged; each is a line of words, none where nobody is ahead.

    Attributes:
        losses: in which figure which policies are ahead of `Stable` by more than the margin.
        gains: whether `Stable` is ahead of flat routing by more than the margin in some figure.
    """

    losses: tuple[str, ...]
    gains: bool

    @property
    def should_warn(self) -> bool:
        """Whether a diagnosis that is worth its name warns."""
        return bool(self.losses) or not self.gains


def standing(found: Mapping[str, Figures]) -> Standing:
    """Compare `Stable` with every other policy.

    Args:
        found: by policy; `Stable` and flat routing are among them.
    """
    ours = found[STABLE]
    rivals = {name: one for name, one in found.items() if name != STABLE}
    losses = []
    for words, ahead in (("capacity", _holds_more), ("hit", _hits_more), ("worst p99", _waits_less)):
        names = [POLICIES[name].title for name, one in rivals.items() if ahead(one, ours)]
        losses += [f"{words}: {', '.join(names)}"] if names else []
    flat = found[FLAT]
    gains = any(ahead(ours, flat) for ahead in (_holds_more, _hits_more, _waits_less))
    return Standing(tuple(losses), gains)


def _holds_more(one: Figures, two: Figures) -> bool:
    if one.capacity is None or two.capacity is None:
        return False
    return one.capacity > two.capacity * (1 + CAPACITY_MARGIN) * (1 + 1e-9)


def _hits_more(one: Figures, two: Figures) -> bool:
    return one.hit > two.hit + HIT_MARGIN


def _waits_less(one: Figures, two: Figures) -> bool:
    return one.judged_tail * (1 + TAIL_MARGIN) < two.judged_tail
