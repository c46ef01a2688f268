"""Traces for the tests of replay."""

from pathlib import Path

import numpy as np
import polars as pl

from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace

DATA = Path(__file__).parent.parent / "data"


def conversations(
    sessions: int = 40, turns: int = 6, users: int = 10, seed: int = 0, seconds: float = 50.0
) -> Trace:
    """Return sessions whose turns grow and that begin within ``seconds``; every other one is the first user's."""
    random = np.random.default_rng(seed)
    session = np.repeat(np.arange(sessions), turns)
    turn = np.tile(np.arange(turns), sessions)
    arrival = random.uniform(0, seconds, sessions)[session] + turn * random.uniform(5, 20, sessions)[session]
    order = np.argsort(arrival, kind="stable")
    session, turn, size = session[order], turn[order], session.size
    output = random.integers(20, 300, size)
    prompt = 400 + turn * 500 + random.integers(0, 50, size)
    return Trace(
        arrival=arrival[order] - arrival.min(),
        prompt=prompt,
        output=output,
        keys=tuple(f"user-{user}" for user in range(users)),
        key=np.where(session % 2, 0, session % users).astype(np.int32),
        models=(),
        model=np.full(size, UNKNOWN, dtype=np.int32),
        session=session,
        duration=random.uniform(0.5, 8.0, size),
        ttft=np.full(size, np.nan),
        cached=np.full(size, UNKNOWN),
    )


def mooncake() -> Trace:
    """Return the Mooncake trace with its blocks."""
    frame = pl.read_parquet(DATA / "mooncake_synthetic.parquet")
    runs = zip(frame["run_start"].to_list(), frame["run_len"].to_list(), strict=True)
    chains = [
        np.concatenate([np.arange(start, start + length) for start, length in zip(*run, strict=True)])
        for run in runs
    ]
    size = frame.height
    return Trace(
        arrival=frame["t"].to_numpy() - float(frame["t"][0]),
        prompt=frame["in_tok"].cast(pl.Int64).to_numpy(),
        output=frame["out_tok"].cast(pl.Int64).to_numpy(),
        keys=(),
        key=np.full(size, UNKNOWN, dtype=np.int32),
        models=(),
        model=np.full(size, UNKNOWN, dtype=np.int32),
        session=frame["session_derived"].cast(pl.Int64).to_numpy(),
        duration=np.full(size, np.nan),
        ttft=np.full(size, np.nan),
        cached=np.full(size, UNKNOWN),
        blocks=Blocks(
            512, np.cumsum([0, *map(len, chains)], dtype=np.int64), np.concatenate(chains).astype(np.int64)
        ),
    )
