"""Small fleets, demands and assignments for hand-made examples."""

from collections.abc import Mapping, Sequence

import numpy as np

from cacheroute.planning.hysteresis import Admission
from cacheroute.planning.pairs import Pairs
from cacheroute.planning.types import UNKNOWN, Assignment, Demand, Fleet


def fleet(*capacity: float, absent: Sequence[int] = (), warm: int = 9) -> Fleet:
    """Return destinations of these capacities, in requests/s, all but the ``absent`` present."""
    size = len(capacity)
    return Fleet(
        np.array(capacity, dtype=np.float64),
        np.full(size, warm, dtype=np.int64),
        present=~np.isin(np.arange(size), absent),
    )


def demand(*rate: float, unkeyed: float = 0.0) -> Demand:
    """Return keys 0, 1, ... of these rates, in requests/s."""
    return Demand(np.array(rate, dtype=np.float64), unkeyed)


def pairs(places: Mapping[int, Sequence[int]], keys: int, standby: Mapping[int, int] | None = None) -> Pairs:
    """Return the pairs of {key: its destinations}, with {key: its standby} where there is one."""
    return Pairs.of_assignment(assignment(places, standby), keys, 99)


def assignment(places: Mapping[int, Sequence[int]], standby: Mapping[int, int] | None = None) -> Assignment:
    """Return {key: its destinations} as an assignment; UNKNOWN is a destination that is gone."""
    edges = np.cumsum([0, *(len(own) for own in places.values())], dtype=np.int64)
    takes_over = standby or {}
    return Assignment(
        admitted=np.array(list(places), dtype=np.int64),
        offsets=edges,
        members=np.array([r for own in places.values() for r in own], dtype=np.int64),
        standby=np.array([takes_over.get(key, UNKNOWN) for key in places], dtype=np.int64),
    )


def placed(found: Pairs) -> dict[int, list[int]]:
    """Return {key: its destinations}."""
    places: dict[int, list[int]] = {}
    for key, r in zip(found.key.tolist(), found.destination.tolist(), strict=True):
        places.setdefault(key, []).append(r)
    return places


def admission(keys: int, but: Sequence[int] = ()) -> Admission:
    """Return what admits every key ``but`` these."""
    return Admission(~np.isin(np.arange(keys), but), skipped=0, threshold=0.0, withheld=0)
