"""What is told beside the verdict of a replay."""

from dataclasses import replace

import numpy as np
import pytest

from cacheroute.simulation.experiments.sweep import Workers
from cacheroute.simulation.shadow.cautions import cautions, of_sharing
from cacheroute.simulation.shadow.replay import Question, ask
from cacheroute.simulation.traces.blocks import Sharing, prepare
from cacheroute.simulation.traces.trace import UNKNOWN, Blocks, Trace

NONE = Sharing()
PREFIX = Sharing(prefix=160)


def trace(size: int = 1200, gap: float = 0.1, *, keys: bool = True, cached: int = UNKNOWN) -> Trace:
    return Trace(
        arrival=np.arange(size, dtype=np.float64) * np.float64(gap),
        prompt=np.full(size, 200),
        output=np.full(size, 4),
        keys=("a", "b") if keys else (),
        key=np.arange(size, dtype=np.int32) % 2 if keys else np.full(size, UNKNOWN, dtype=np.int32),
        models=(),
        model=np.full(size, UNKNOWN, dtype=np.int32),
        session=np.full(size, UNKNOWN),
        duration=np.full(size, np.nan),
        ttft=np.full(size, np.nan),
        cached=np.full(size, cached),
    )


@pytest.mark.parametrize(
    ("given", "policy", "says"),
    [
        (trace(), "stable", ()),
        (trace(cached=160), "stable", ()),
        (trace(cached=20), "stable", ("told a hit of 10.0 %",)),
        (trace(keys=False), "stable", ("No request has a key",)),
        (trace(keys=False), "preble", ()),
        (trace(gap=0.04), "stable", ("lasts 48 s and no longer than --interval 60",)),
        (trace(gap=0.04), "chwbl", ()),
        (trace(size=900), "stable", ("900 requests are too few",)),
    ],
)
def test_what_the_verdict_cannot_bear_is_told(given: Trace, policy: str, says: tuple[str, ...]) -> None:
    question = Question(2, "8b-bf16", policy, kv_tokens=20_000, seeds=2)
    answer = ask(question, prepare(given, PREFIX, question.tokens).work, Workers(jobs=1))
    found = cautions(given, PREFIX, answer)
    assert len(found) == len(says), found
    assert all(one in sentence for one, sentence in zip(says, found, strict=True))


def test_what_prompts_share_is_told_where_it_is_doubtful() -> None:
    made = trace()
    sessions = replace(made, session=np.arange(made.size) % 40)
    blocks = replace(made, blocks=Blocks(16, np.zeros(made.size + 1, np.int64), np.zeros(0, np.int64)))
    assert of_sharing(made, PREFIX) == of_sharing(sessions, NONE) == of_sharing(blocks, NONE) == ()
    assert "share nothing" in of_sharing(made, NONE)[0]
    assert "guessed from lengths" in of_sharing(replace(sessions, reconstructed=True), PREFIX)[0]
    assert "had no effect" in of_sharing(blocks, PREFIX)[0]
