"""``cacheroute replay`` and ``cacheroute simulate``."""

import html
import json
from pathlib import Path

import pytest

from tests.cli.running import Runner

SMALL = ("--destinations", "2", "--engine", "8b-bf16", "--jobs", "1")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return an access log of 300 requests of six tenants."""
    rows = [
        {
            "time": 1_700_000_000 + n * 0.05,
            "user": f"tenant-{n * n % 6}",
            "model": "llama",
            "usage": {"prompt_tokens": 900, "completion_tokens": 10},
        }
        for n in range(300)
    ]
    path = tmp_path / "access.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_replay_says_what_a_plan_would_do(run: Runner, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    options = (*SMALL, "--prefix-tokens", "800", "--interval", "3", "--seeds", "2", "--objective", "0.2")
    ended = run.cacheroute("replay", log, *options, "--html", page, "-o", "json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert found["requests"] == 300
    assert all(0 < found[side]["token_hit"] < 1 for side in ("flat", "planned"))
    assert found["planned"]["gpus_needed"] >= 1
    assert found["verdict"] in html.unescape(page.read_text("utf-8"))
    assert {path.name for path in tmp_path.iterdir()} == {"access.jsonl", "report.html"}
    assert ["guessed" in one or "300 requests are too few" in one for one in found["cautions"]] == [
        True,
        True,
    ]
    assert all(one in html.unescape(page.read_text("utf-8")) for one in found["cautions"])
    table = run.cacheroute("replay", log, *options)
    assert all(f"Caution: {one}" in table.out for one in found["cautions"])
    assert found["verdict"] in table.out
    assert "prompt tokens from caches" in table.out
    assert found["diagnosis"]["intervals"] == 4
    assert f"from the past only: {found['diagnosis']['words']}." in table.out


def test_a_simulation_of_a_trace_and_of_made_up_traffic(run: Runner, log: Path) -> None:
    of_trace = run.cacheroute("simulate", log, *SMALL, "--policy", "flat", "--policy", "sticky", "-o", "json")
    rows = json.loads(of_trace.out)["runs"]
    assert "--template-tokens 512 and --prefix-tokens 320 are taken for it" in of_trace.err
    assert [(row["policy"], round(row["load"], 1)) for row in rows] == [("flat", 20.1), ("sticky", 20.1)]
    assert rows[1]["hit_percent"] > 0
    options = (*SMALL, "--seconds", "6", "--load", "5", "--load", "20", "--keys", "8")
    made_up = run.cacheroute("simulate", *options)
    assert made_up.code == 0
    assert "the highest load still holds" in made_up.out
    assert made_up.out == run.cacheroute("simulate", *options).out


def test_one_cache_by_eviction_in_place_of_a_fleet(run: Runner, tmp_path: Path) -> None:
    """Three users take turns, so one prompt in the cache is never the one that is asked for."""
    path = tmp_path / "talk.jsonl"
    rows = [
        {
            "time": 1_700_000_000 + n,
            "user": f"u{n % 3}",
            "session": f"s{n % 3}",
            "usage": {"prompt_tokens": 400 + 100 * (n // 3), "completion_tokens": 10},
        }
        for n in range(30)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ("--destinations", "6", "--kv-cache-tokens", "900", "--jobs", "1", "--eviction", "lru")
    found = json.loads(run.cacheroute("replay", path, *options, "--eviction", "belady", "-o", "json").out)
    assert (found["requests"], found["evicted_by"], len(found["caches"])) == (30, "session", 2 * 4)
    hits = {(row["eviction"], row["destinations"]): row["token_hit"] for row in found["caches"]}
    assert hits["lru", 6] == hits["belady", 6] > hits["belady", 1] > hits["lru", 1]
    table = run.cacheroute("replay", path, *options[:-1], "all").out
    assert all(name in table for name in ("s3-fifo", "sieve", "gdsf", "6 destinations"))
    ended = run.cacheroute("replay", path, *options[:-1], "mru")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "no eviction is called 'mru'" in ended.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("replay", "gone.jsonl", "--destinations", 2), "gone.jsonl: cannot be read"),
        (("replay", "LOG", "--destinations", 2, "--engine", "gpt"), "no engine is called 'gpt'"),
        (("replay", "LOG", "--destinations", 2, "--policy", "best"), "no policy is called 'best'"),
        (("replay", "LOG", "--destinations", 2, "--window", 5), "--window 5 is shorter than --interval 60"),
        (
            ("replay", "LOG", "--destinations", 2, "--eviction", "lru", "--html", "x.html"),
            "--eviction goes without",
        ),
        (
            ("replay", "LOG", "--destinations", 2, "--eviction", "lru", "--prefix-tokens", 8),
            "--eviction goes without",
        ),
        (("replay", "LOG"), "--destinations"),
        (("replay", "LOG", "--destinations", 2, "--kv-cache-tokens", 64), "no request of the trace fits"),
        (("replay", "LOG", "--destinations", 2, "--backend", "slurm"), "--backend slurm: it is one of"),
        (("simulate", "--arrivals", "pareto"), "--arrivals pareto: it is one of"),
        (("simulate", "--prefix-tokens", 100), "--prefix-tokens 100: it must be a multiple of 16"),
        (("simulate", "--cluster", "tcp://x"), "--cluster is the address"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(
    run: Runner, log: Path, arguments: tuple[object, ...], complaint: str
) -> None:
    ended = run.cacheroute(*(log if one == "LOG" else one for one in arguments))
    assert ended.code == 2
    assert complaint in ended.err
    assert ended.err.count("\n") == 1
    assert not ended.out


def test_a_report_that_cannot_be_written_leaves_nothing(run: Runner, log: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone" / "report.html"
    ended = run.cacheroute("replay", log, *SMALL, "--prefix-tokens", "800", "--seeds", "2", "--html", gone)
    assert ended.code == 2
    assert "cannot be written: there is no directory" in ended.err
    assert not ended.out
