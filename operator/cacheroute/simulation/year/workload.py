"""A made-up trace with the published statistics of one model of the year-long trace, which itself is not here.

From the published numbers: how many requests sessions have, mean lengths of first prompts, of what later ones add, and of
answers, and how much of the prompts continues. First prompts: the sizes of figure 16's caches are 1 % and less of their
sum, which makes the published miss ratio of the ideal cache exact. Fitted: how far apart the requests of a
session are, so that LRU finds in figure 16's sizes what was published. Chosen: users, and the shapes of lengths.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.traces.trace import UNKNOWN, Trace
from cacheroute.simulation.year.published import Sessions, eviction, sessions

SPREAD = 1.0
"""Sigma of the lognormal lengths."""
LARGEST_CACHE = 0.01
"""The largest cache of figure 16 over the tokens of all first prompts."""
_HALVINGS = 40
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Workload:
    """One model's traffic.

    Attributes:
        model: its name in the published files.
        title: its name.
        rate: requests/s, chosen.
        users: how many, chosen.
        heaviest: share of the sessions that one user has, on top of a Zipf law over all; what figure 20 shows of `sticky`.
        gaps: (share of the continued requests, requests of others until then at most), ascending; fitted.
    """

    model: str
    title: str
    rate: float
    users: int
    heaviest: float
    gaps: tuple[tuple[float, float], ...]


@lru_cache(maxsize=2)
def make(workload: Workload, requests: int, seed: int) -> Trace:
    """Return about so many requests in order of arrival; equal arguments give equal traces."""
    facts, random = sessions(workload.model), np.random.default_rng(seed)
    count = max(1, round(requests * facts.sessions / facts.requests))
    last = _last_turns(facts, random.random(count))
    session = np.repeat(np.arange(count), last + 1)
    turn = np.arange(session.size) - np.repeat(np.cumsum(last + 1) - last - 1, last + 1)
    prompt, output = _lengths(workload.model, facts, last[session], turn, random)
    shares, apart = np.array(workload.gaps).T
    gap = np.interp(random.random(session.size), shares, apart)
    begin = random.uniform(0, session.size, count)
    arrival = begin[session] + _sums(np.where(turn == 0, 0.0, gap), turn)
    order = np.argsort(arrival, kind="stable")
    user = _users(workload, count, random)[session]
    seconds = arrival[order] / workload.rate
    unknown = np.full(session.size, UNKNOWN)
    return Trace(
        arrival=seconds - seconds[0],
        prompt=prompt[order],
        output=output[order],
        keys=tuple(f"user-{number}" for number in range(workload.users)),
        key=user[order].astype(np.int32),
        models=(workload.title,),
        model=np.zeros(session.size, dtype=np.int32),
        session=session[order].astype(np.int64),
        duration=np.full(session.size, np.nan),
        ttft=np.full(session.size, np.nan),
        cached=unknown,
    )


def first_prompt_tokens(model: str) -> float:
    """Return the tokens of all first prompts of the published sessions."""
    return max(size for _, size in eviction(model)) / LARGEST_CACHE


def _last_turns(facts: Sessions, chance: Floats) -> Ints:
    """Return the number of each session's last request, counted from 0.

    It has the published share of 0, quantiles, largest value and mean; the mean bends the curve below the 90 % quantile.
    """
    rare = -np.log(np.maximum(1.0 - chance, 1.0 / facts.sessions))
    at = -np.log([1.0 - facts.single, 0.1, 0.01, 1.0 / facts.sessions])
    tail = np.exp(np.interp(rare, at[1:], np.log([facts.turn_p90, facts.turn_p99, facts.turn_max])))
    inside = np.clip((rare - at[0]) / (at[1] - at[0]), 0.0, 1.0)
    low, high = 0.05, 20.0
    last = np.zeros(chance.size, dtype=np.int64)
    for _ in range(_HALVINGS):
        bend = (low * high) ** 0.5
        turns = np.where(rare > at[1], tail, 1.0 + (facts.turn_p90 - 1) * inside**bend)
        last = np.where(chance < facts.single, 0, np.rint(turns).astype(np.int64))
        low, high = (low, bend) if last.mean() < facts.turn_mean else (bend, high)
    return last


def _lengths(
    model: str, facts: Sessions, last: Ints, turn: Ints, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Return prompts and answers, int64[N], of requests in order of session and turn."""
    first, later = turn == 0, turn > 0
    begin = first_prompt_tokens(model)
    continued = facts.requests - facts.sessions
    added = (facts.input_tokens - begin - facts.prefix_tokens) / continued
    output = np.maximum(
        1, random.lognormal(0, SPREAD, turn.size) * _unit(facts.output_tokens / facts.requests)
    )
    noise = random.lognormal(0, SPREAD, turn.size)
    target = (facts.input_tokens - begin) / continued
    low, high = -1.0, 3.0
    for _ in range(_HALVINGS):
        bend = (low + high) / 2
        growth = noise * (1.0 + last) ** -bend
        growth[first] *= begin / facts.sessions / growth[first].mean()
        growth[later] *= added / growth[later].mean()
        prompt = _sums(growth + np.where(later, np.roll(output, 1), 0.0), turn)
        low, high = (bend, high) if prompt[later].mean() > target else (low, bend)
    return np.maximum(1, prompt).astype(np.int64), output.astype(np.int64)


def _unit(mean: float) -> float:
    """Return the factor that gives a lognormal length this mean."""
    return float(mean / np.exp(SPREAD**2 / 2))


def _sums(values: Floats, turn: Ints) -> Floats:
    """Return the sums of each session's values so far."""
    total = np.cumsum(values)
    first = np.flatnonzero(turn == 0)
    before = (total[first] - values[first])[np.cumsum(turn == 0) - 1]
    sums: Floats = total - before
    return sums


def _users(workload: Workload, count: int, random: np.random.Generator) -> Ints:
    weights = 1.0 / np.arange(1, workload.users + 1)
    user = random.choice(workload.users, count, p=weights / weights.sum())
    users: Ints = np.where(random.random(count) < workload.heaviest, 0, user)
    return users


MINIMAX = Workload(
    model="minimax",
    title="MiniMax-M2.5",
    rate=12.0,
    users=5_000,
    heaviest=0.96,
    gaps=(
        (0.0, 0.0),
        (0.4, 2.5),
        (0.7, 12.6),
        (0.92, 50.0),
        (0.982, 250.0),
        (0.99, 2_500.0),
        (1.0, 20_000.0),
    ),
)
V32 = Workload(
    model="v32",
    title="DeepSeek V3.2",
    rate=20.0,
    users=5_000,
    heaviest=0.0,
    gaps=((0.0, 0.0), (0.41, 23.3), (0.555, 117.0), (0.7, 1_170.0), (0.9, 23_400.0), (1.0, 120_000.0)),
)
WORKLOADS = (V32, MINIMAX)
