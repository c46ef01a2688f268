"""What was published with A Year in LLM Serving (arXiv 2608.13573), as facts to compare with."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import polars as pl

SOURCE = "arXiv 2608.13573"
KIB = 1024
"""Tokens in a unit of the cache sizes of figure 16."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions that were reconstructed for one model.

    Attributes:
        requests: in all sessions.
        sessions: how many.
        single: share of the sessions with one request.
        turn_p90: 90th percentile of the number of the last request, counted from 0.
        turn_p99: 99th percentile of it.
        turn_max: largest.
        turn_mean: mean.
        input_tokens: of all requests.
        output_tokens: of all requests.
        prefix_tokens: prompt and answer of the requests that were continued: what could be found in a cache.
    """

    requests: int
    sessions: int
    single: float
    turn_p90: int
    turn_p99: int
    turn_max: int
    turn_mean: float
    input_tokens: int
    output_tokens: int
    prefix_tokens: int


@dataclass(frozen=True, slots=True)
class Routed:
    """One point of figure 20."""

    token_hit: float
    request_hit: float
    max_mean_token_load: float
    replication: float


@cache
def sessions(model: str) -> Sessions:
    """Return the sessions of a model, ``minimax`` or ``v32``."""
    row = _frame("sessions").row(by_predicate=pl.col("model") == model, named=True)
    return Sessions(
        requests=row["requests"],
        sessions=row["sessions"],
        single=row["single_turn_session_share"],
        turn_p90=row["max_turn_p90"],
        turn_p99=row["max_turn_p99"],
        turn_max=row["max_turn_max"],
        turn_mean=row["max_turn_mean"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        prefix_tokens=row["structural_prefix_tokens"],
    )


@cache
def eviction(model: str) -> dict[tuple[str, int], tuple[float, float]]:
    """Return figure 16: by algorithm, as libCacheSim calls it, and cache tokens, the request and the token hit."""
    frame = _frame("eviction").filter(pl.col("workload") == model)
    return {
        (row["policy"], row["cache_kib"] * KIB): (1.0 - row["miss_ratio"], 1.0 - row["byte_miss_ratio"])
        for row in frame.iter_rows(named=True)
    }


@cache
def routing(model: str) -> dict[tuple[str, int, int], Routed]:
    """Return figure 20, by policy, number of instances and cache tokens of one."""
    frame = _frame("routing").filter(pl.col("model") == model)
    return {
        (row["policy"], row["n"], row["cache_tokens"]): Routed(
            row["token_hit"], row["request_hit"], row["max_mean_token_load"], row["replication"]
        )
        for row in frame.iter_rows(named=True)
    }


def _frame(name: str) -> pl.DataFrame:
    text = files("cacheroute.simulation.year").joinpath(f"data/{name}.csv").read_bytes()
    return pl.read_csv(text, comment_prefix="#")
