"""The made-up traces have the published statistics, and the studies of the trace paper's figures work from end to end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cacheroute.simulation.paper.plots import file_name
from cacheroute.simulation.paper.report import Chapter, write_report
from cacheroute.simulation.replay.eviction import Algorithm, find
from cacheroute.simulation.replay.replay import ReplaySettings, replay
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.traces.trace import Trace
from cacheroute.simulation.year.published import eviction, routing, sessions
from cacheroute.simulation.year.run import ManyCaches, run_all
from cacheroute.simulation.year.studies import year_studies
from cacheroute.simulation.year.study import REQUESTS as REPORTED
from cacheroute.simulation.year.workload import MINIMAX, WORKLOADS, Workload, first_prompt_tokens, make

REQUESTS = 60_000


def turns(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the requests of each session."""
    return np.unique(trace.session, return_counts=True)[1]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.model)
def test_a_made_up_trace_has_the_published_statistics(workload: Workload) -> None:
    trace, facts = make(workload, REQUESTS, seed=3), sessions(workload.model)
    last = turns(trace) - 1
    assert trace.size == pytest.approx(REQUESTS, rel=0.01)
    assert float(last.mean()) == pytest.approx(facts.turn_mean, rel=0.01)
    assert float((last == 0).mean()) == pytest.approx(facts.single, abs=0.01)
    assert np.quantile(last, 0.9) == facts.turn_p90
    assert np.quantile(last, 0.99) == pytest.approx(facts.turn_p99, abs=1)
    assert float(trace.prompt.mean()) == pytest.approx(facts.input_tokens / facts.requests, rel=0.01)
    assert float(trace.output.mean()) == pytest.approx(facts.output_tokens / facts.requests, rel=0.03)
    found = find(trace, Algorithm.LRU, 10**13)
    assert found.token_hit == pytest.approx(facts.prefix_tokens / facts.input_tokens, abs=0.01)
    first = np.unique(trace.session, return_index=True)[1]
    share = float(trace.prompt[first].sum() / trace.prompt.sum())
    assert share == pytest.approx(first_prompt_tokens(workload.model) / facts.input_tokens, abs=0.005)


def test_first_prompts_are_what_the_ideal_cache_misses() -> None:
    """Of MiniMax the largest ideal cache is published: it misses nothing but first prompts."""
    largest = max(size for _, size in eviction("minimax"))
    missed = 1.0 - eviction("minimax")["BeladySize", largest][1]
    assert first_prompt_tokens("minimax") / sessions("minimax").input_tokens == pytest.approx(
        missed, abs=5e-5
    )


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.model)
def test_lru_finds_as_many_requests_as_was_published(workload: Workload) -> None:
    trace = make(workload, REPORTED, seed=4)
    for (name, size), (requests, _tokens) in eviction(workload.model).items():
        if name == "LRU":
            assert find(trace, Algorithm.LRU, size, answers=False).request_hit == pytest.approx(
                requests, abs=0.03
            )


def test_policies_are_ordered_as_in_figure_20() -> None:
    """Replication where caches are large, and who finds most where they are small."""
    trace = make(MINIMAX, REQUESTS, seed=5)
    names = {
        "round_robin": Policy.ROUND_ROBIN,
        "load_first": Policy.LOAD_FIRST,
        "sticky": Policy.USER_STICKY,
        "cache_first": Policy.CACHE_FIRST,
    }
    for tokens in (1_125, 5_000_000):
        ours = {name: replay(trace, ReplaySettings(one, 20, tokens)) for name, one in names.items()}
        theirs = {name: routing("minimax")[name, 20, tokens] for name in names}
        if tokens == 1_125:
            assert max(ours, key=lambda name: ours[name].token_hit) == "cache_first"
            assert max(theirs, key=lambda name: theirs[name].token_hit) == "cache_first"
        assert ours["sticky"].replication == theirs["sticky"].replication == 1.0
        assert ours["sticky"].max_over_mean == pytest.approx(theirs["sticky"].max_mean_token_load, rel=0.05)
        for blind in ("round_robin", "load_first"):
            assert ours[blind].token_hit < 0.3 * ours["cache_first"].token_hit
            assert theirs[blind].token_hit < 0.3 * theirs["cache_first"].token_hit


def test_equal_replays_are_equal_in_every_process_and_kept(tmp_path: Path) -> None:
    replays = [
        ManyCaches(MINIMAX, 2_000, seed, policy, 4, 50_000)
        for seed in (0, 1)
        for policy in (Policy.LOAD_FIRST, Policy.PRODUCTION)
    ]
    here = [ran.values for ran in run_all(replays, kept=tmp_path)]
    assert [ran.values for ran in run_all(replays, jobs=2)] == here
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(files) == len(replays)
    assert [ran.values for ran in run_all(replays, kept=tmp_path)] == here
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == files
    assert run_all([replace(replays[0], seed=2)])[0].values != here[0]


@pytest.mark.timeout(300)
def test_every_figure_is_told(tmp_path: Path) -> None:
    chapters = []
    for study in year_studies(quick=True):
        ran = run_all(study.replays())
        chapters.append(Chapter(study, study.told([one.values for one in ran]), len(ran), 1.0))
    write_report(chapters, tmp_path / "results.md", tmp_path / "images")
    page = (tmp_path / "results.md").read_text("utf-8")
    assert "## F16 MiniMax-M2.5: eviction in one cache" in page
    assert page.count("The year-long trace is not public here") == len(chapters)
    assert "BeladySize" not in page
    assert (tmp_path / "images" / file_name("F20ab DeepSeek V3.2", 1)).is_file()
    names = [study.name for study in year_studies()]
    assert len(set(names)) == len(names) == 7
    assert [study.name for study in year_studies(only=["F19"])] == ["F19 DeepSeek V3.2"]
