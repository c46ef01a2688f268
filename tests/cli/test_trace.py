"""``cacheroute trace``."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.running import Runner
from tests.simulation.traces.readers import made

SHIPPED = Path(__file__).parents[1] / "simulation" / "data" / "mooncake_synthetic.parquet"
FIGURES = {
    "requests": "120",
    "keys": "3",
    "prompt tokens: mean, p50, p90, p99": "160, 159, 207, 218",
    "CV of gaps": "0",
    "token hit, as the engines said": "60.2 %",
    "a pair returns within": "0.1 s: 0.0 %, 1 s: 0.0 %, 10 s: 100.0 %",
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return made.access_log(tmp_path, rows=120)


def test_the_table_says_what_there_is(run: Runner, log: Path) -> None:
    ended = run.cacheroute("trace", "describe", log)
    assert ended.code == 0, ended.err
    assert ended.err == ""
    lines = ended.out.splitlines()
    for name, value in FIGURES.items():
        assert any(line.startswith(name) and value in line for line in lines), (name, ended.out)


def test_json_is_plain_and_complete(run: Runner, log: Path) -> None:
    ended = run.cacheroute("trace", "describe", log, "-o", "json")
    document = json.loads(ended.out)
    assert document["version"] == 1
    assert document["requests"] == 120
    assert document["prefix"]["hits"]["requests"] == 120


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_has_its_pictures_in_it_and_runs_nothing(run: Runner, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>$\\frac$"
    log = made.json_lines(
        tmp_path / "log.jsonl", [made.log_line(at, user=hostile, model=hostile) for at in range(50)]
    )
    page = tmp_path / "report.html"
    ended = run.cacheroute("trace", "describe", log, "-o", "html", "--save", page)
    assert ended.code == 0, ended.err
    assert ended.out == ""
    tags = Tags(page.read_text())
    assert tags.seen.count("svg") >= 6
    assert "script" not in tags.seen
    assert hostile in tags.texts
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log.jsonl", "report.html"]


def test_a_converted_trace_is_described_alike(run: Runner, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    ended = run.cacheroute("trace", "convert", SHIPPED, out)
    assert ended.code == 0, ended.err
    documents = [
        json.loads(run.cacheroute("trace", "describe", path, "-o", "json").out) for path in (SHIPPED, out)
    ]
    for document in documents:
        del document["file"], document["format"]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--field", "time"), "--field 'time': use NAME=FIELD"),
        (("--field", "time=user"), "access.jsonl:1: user: 'user-0' is no point in time"),
        (("--field", "key=user:ms"), "--field key=user:ms: only time, duration, ttft have a unit"),
        (("--format", "runs"), "access.jsonl: is no Parquet file"),
        (("--save", "/nowhere/x.json"), "/nowhere/x.json: cannot be written: No such file"),
        (("-o", "xml"), "--output"),
        (("--session-gap", "0"), "--session-gap"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    run: Runner, log: Path, arguments: tuple[str, ...], says: str
) -> None:
    ended = run.cacheroute("trace", "describe", log, *arguments)
    assert ended.code == 2
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert ended.out == ""


def test_guessed_sessions_are_told_and_remembered(run: Runner, tmp_path: Path) -> None:
    lines = [made.log_line(n) for n in range(40)]
    out = tmp_path / "out.parquet"
    for named in (False, True):
        rows = [{**line, "session_id": f"s{n % 4}"} for n, line in enumerate(lines)] if named else lines
        log = made.json_lines(tmp_path / "log.jsonl", rows)
        assert run.cacheroute("trace", "convert", log, out).code == 0
        for path in (log, out):
            found = json.loads(run.cacheroute("trace", "describe", path, "-o", "json").out)
            assert found["prefix"]["sessions"]["reconstructed"] is not named
            assert ("guessed from lengths" in run.cacheroute("trace", "describe", path).out) is not named


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("out.csv", "out.csv: the name must end in .parquet"),
        ("gone/out.parquet", "out.parquet: cannot be written: No such file or directory\n"),
    ],
)
def test_a_converted_trace_needs_a_place(
    run: Runner, log: Path, tmp_path: Path, name: str, says: str
) -> None:
    ended = run.cacheroute("trace", "convert", log, tmp_path / name)
    assert ended.code == 2
    assert ended.err.endswith(says) or says in ended.err
    assert [one.name for one in tmp_path.iterdir()] == [log.name]


def test_a_broken_trace_leaves_no_file(run: Runner, tmp_path: Path) -> None:
    log = made.json_lines(tmp_path / "log.jsonl", [made.log_line(0), made.log_line(1, duration=-1)])
    ended = run.cacheroute("trace", "convert", log, tmp_path / "out.parquet")
    assert ended.code == 2
    assert ended.err == f"cacheroute: {log}:2: duration: -1 is negative\n"
    assert [one.name for one in tmp_path.iterdir()] == ["log.jsonl"]


@pytest.mark.parametrize("module", ["numba", "jinja2", "matplotlib"])
def test_without_the_extra_it_says_how_to_get_it(log: Path, module: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv = ['cacheroute', 'trace', 'describe', {str(log)!r}, "
        "'-o', 'html']; from cacheroute.cli.main import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603  our own code
    assert ended.returncode == 1
    assert ended.stderr == (
        f"cacheroute: this needs the extra 'simulation' ({module} is missing): pip install 'cacheroute[simulation]'\n"
    )
