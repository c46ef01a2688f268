"""Made-up traffic as one value: everything that the requests of a simulation depend on."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.fleet.state import Work
from cacheroute.simulation.workloads.arrivals import Arrivals, arrivals, resampled
from cacheroute.simulation.workloads.rates import drifted, highest_shares, with_whales
from cacheroute.simulation.workloads.tenants import Prompts, requests_of

BEFORE_SECONDS = 300.0
"""How long the rates that are known at the start were measured."""
_MEASURED_GAPS, _RUN = 22_639, 40
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Whales:
    """A few keys that share a part of the traffic evenly."""

    keys: int
    head: float
    """Their share of the traffic, 0..1."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A lognormal random walk of the keys' shares."""

    sigma: float
    interval_seconds: float
    """Between two steps."""
    begin: int = 0
    """Steps that were made before the first request."""
    known: int = 0
    """Steps that the rates know that were measured before the first request."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A flash crowd: for a while one key, until then the quietest, takes a part of the traffic."""

    begin: float
    seconds: float
    head: float
    """Its share of the traffic, 0..1."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests of tenants.

    Attributes:
        keys: the K keys of the paper with the highest rates.
        rate: requests/s in the mean.
        seconds: length.
        prompts: what a prompt consists of.
        arrivals: process of the arrivals; BOOTSTRAP takes blocks of a bursty series with ``variation``.
        variation: standard deviation of the gaps / mean; not for POISSON.
        whales: heavy keys, None for none.
        drift: how shares change, None for not at all.
        crowd: a flash crowd, None for none.
        seed: where chance comes from.
    """

    keys: int
    rate: float
    seconds: float
    prompts: Prompts
    arrivals: Arrivals = Arrivals.POISSON
    variation: float = 1.9
    whales: Whales | None = None
    drift: Drift | None = None
    crowd: Crowd | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.keys >= 1 and self.rate > 0 and self.seconds > 0 and self.variation > 0):
            raise SimulationError(
                f"traffic: {self.keys} keys, {self.rate} requests/s, {self.seconds} s; all must be > 0"
            )


class Made(NamedTuple):
    """The requests, and what had been measured before them."""

    work: Work
    before: Floats
    """float64[K], requests/s of each key in the ``BEFORE_SECONDS`` before the first request."""


def make(traffic: Traffic) -> Made:
    """Return the requests; equal traffic gives equal requests to the bit."""
    random = np.random.default_rng(traffic.seed)
    first = shares_of(traffic, traffic.drift.known if traffic.drift else 0)
    before = random.poisson(first * traffic.rate * BEFORE_SECONDS) / BEFORE_SECONDS
    times = _times(traffic, random)
    key = np.empty(times.size, dtype=np.int64)
    for begin, end, shares in _stretches(traffic):
        here = slice(*np.searchsorted(times, (begin, end)))
        key[here] = random.choice(shares.size, here.stop - here.start, p=shares)
    return Made(requests_of(times, key, traffic.prompts, random), before)


def shares_of(traffic: Traffic, step: int) -> Floats:
    """Return the keys' shares after so many steps of their drift, float64[K]."""
    shares = highest_shares(traffic.keys)
    if traffic.whales is not None:
        shares = with_whales(shares, traffic.whales.keys, traffic.whales.head)
    for n in range(step if traffic.drift else 0):
        shares = drifted(shares, traffic.drift.sigma if traffic.drift else 0.0, 1_000 * traffic.seed + n)
    return shares


def _stretches(traffic: Traffic) -> list[tuple[float, float, Floats]]:
    """Return stretches of time with constant shares."""
    edges = [0.0, traffic.seconds]
    first = traffic.drift.begin if traffic.drift else 0
    interval = traffic.drift.interval_seconds if traffic.drift else traffic.seconds
    edges += [n * interval for n in range(1, int(traffic.seconds / interval) + 1)]
    if traffic.crowd is not None:
        edges += [traffic.crowd.begin, traffic.crowd.begin + traffic.crowd.seconds]
    ordered = sorted({edge for edge in edges if edge <= traffic.seconds})
    return [
        (begin, end, _crowded(traffic, shares_of(traffic, first + int(begin / interval)), begin))
        for begin, end in pairwise(ordered)
    ]


def _crowded(traffic: Traffic, shares: Floats, time: float) -> Floats:
    crowd = traffic.crowd
    if crowd is None or not crowd.begin <= time < crowd.begin + crowd.seconds:
        return shares
    crowded: Floats = shares * (1.0 - crowd.head) / shares[:-1].sum()
    crowded[-1] = crowd.head
    return crowded


def _times(traffic: Traffic, random: np.random.Generator) -> Floats:
    if traffic.arrivals is not Arrivals.BOOTSTRAP:
        return arrivals(traffic.arrivals, traffic.rate, traffic.seconds, random, traffic.variation)
    return resampled(_bursts(traffic.variation), traffic.rate, traffic.seconds, random)


def _bursts(variation: float) -> Floats:
    """Return gaps whose level changes in runs, so that neighbours resemble each other: stands for the paper's series."""
    random = np.random.default_rng(1)
    spread = np.sqrt(np.log((variation**2 + 1.0) / 2.0))
    runs = random.lognormal(0.0, spread, -(-_MEASURED_GAPS // _RUN))
    gaps: Floats = np.repeat(runs, _RUN)[:_MEASURED_GAPS] * random.exponential(1.0, _MEASURED_GAPS)
    return gaps
