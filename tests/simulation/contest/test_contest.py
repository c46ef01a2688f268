"""The contest on traces of our own making, in the schemas of the published ones."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cacheroute.simulation.contest.contest import contest
from cacheroute.simulation.contest.made_up import Judged
from cacheroute.simulation.contest.report import numbers, part
from cacheroute.simulation.contest.traffic import TENANT_TOKENS, source, sources
from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.sweep import Workers, sweep
from cacheroute.simulation.paper.parts import parts_of, with_part

RUNS = {"block_size": "512", "hash_scope": "global, chained prefix"}


def conversations(folder: Path, requests: int = 120) -> Path:
    """Write conversations of six turns: each turn begins with the one before."""
    turn = np.arange(requests) % 6
    session = np.arange(requests) // 6
    frame = pl.DataFrame(
        {
            "t": np.arange(requests) * 1.5,
            "session_derived": session,
            "in_tok": 512 * (turn + 1),
            "out_tok": np.full(requests, 8),
            "run_start": [[int(one) * 100] for one in session],
            "run_len": [[int(one) + 1] for one in turn],
        },
        schema_overrides={"run_start": pl.List(pl.Int32), "run_len": pl.List(pl.Int32)},
    )
    frame.write_parquet(folder / "talk.parquet", metadata=RUNS)
    return folder / "talk.parquet"


def tenants(folder: Path) -> Path:
    size = 300
    frame = pl.DataFrame(
        {
            "t": np.arange(size) * 1.0,
            "tenant": np.arange(size) % 7,
            "in_tok": [900] * size,
            "out_tok": [9] * size,
        }
    )
    frame.write_parquet(folder / "skew.parquet")
    return folder / "skew.parquet"


def azure(folder: Path) -> Path:
    path = folder / "lengths.csv"
    path.write_text("t,in_tok,out_tok\n" + "".join(f"{n}.0,400,5\n" for n in range(200)), encoding="utf-8")
    return path


def test_conversations_are_keys_where_there_are_no_tenants(tmp_path: Path) -> None:
    found = source(conversations(tmp_path))
    assert found.named == 20
    assert int(found.work.key.max()) == 19
    assert "keys are its conversations" in found.about
    assert "composed" not in found.about


def test_what_is_assumed_of_tenants_is_told(tmp_path: Path) -> None:
    found = source(tenants(tmp_path))
    assert found.named == 7
    assert f"composed: prompts of a tenant begin with the same {TENANT_TOKENS} tokens" in found.about
    first = found.work.contents[found.work.first_block[[0, 7]]]
    assert first[0] == first[1]


def test_requests_without_keys_have_none(tmp_path: Path) -> None:
    found = source(azure(tmp_path))
    assert found.named == 0
    assert "no keys" in found.about


def test_a_folder_without_traces_is_told(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="has no trace"):
        next(sources(tmp_path))
    with pytest.raises(SimulationError, match="there is no such folder"):
        next(sources(tmp_path / "gone"))


def test_a_contest_from_end_to_end(tmp_path: Path) -> None:
    """Conversations end before they are planned: who looks at caches finds more, and the diagnosis says why."""
    found = contest(
        source(conversations(tmp_path)),
        ("flat", "preble", "stable"),
        lambda cells: [one.outcome for one in sweep(cells, Workers(jobs=1))],
    )
    assert found.figures["preble"].hit > found.figures["stable"].hit
    assert found.said["ColdTraffic"] > 0
    judged = Judged("made up", found.figures, {"intervals": 5})
    text = part([found], [judged])
    assert "**`Stable` loses**" in text
    assert "1 of 2 right; missed: made up; false alarms: none" in text
    assert set(numbers([found], [judged])) == {"talk", "made up"}


def test_parts_of_a_page_are_replaced_and_kept() -> None:
    page = with_part("# Results\n\nfirst\n", "contest", "old")
    page = with_part(with_part(page, "more", "another"), "contest", "new\n")
    assert parts_of(page) == {"contest": "new", "more": "another"}
    assert page.startswith("# Results\n\nfirst\n")
    assert "old" not in page
