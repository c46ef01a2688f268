"""What is wrong with a file is told in one line: file, row, column."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cacheroute.simulation.traces.read import read_trace, write_trace
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.open import open_trace
from cacheroute.simulation.traces.readers.options import ReadOptions, TraceFormat
from tests.simulation.traces.readers import made

GARBAGE = np.random.default_rng(1).bytes(100_000)


def text(name: str, content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def log(*changes: dict[str, Any]) -> Callable[[Path], Path]:
    """Return a log of which the second line, and those after it, are changed."""

    def make(folder: Path) -> Path:
        records = [made.log_line(0), *(made.log_line(at, **one) for at, one in enumerate(changes, 1))]
        return made.json_lines(folder / "log.jsonl", records)

    return make


def usage(**tokens: object) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": 10, "completion_tokens": 1, **tokens}}


def mooncake(**change: object) -> Callable[[Path], Path]:
    record = {"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [1]}
    return lambda folder: made.json_lines(folder / "m.jsonl", [record, {**record, **change}])


def table(frame: pl.DataFrame, change: dict[str, Any], **metadata: str) -> Callable[[Path], Path]:
    """Return a Parquet file of which a column is other; None drops it."""
    changed = frame.drop([name for name, values in change.items() if values is None])
    changed = changed.with_columns(
        pl.Series(name, values, strict=False) for name, values in change.items() if values is not None
    )
    return lambda folder: made.parquet(folder / "t.parquet", changed, **metadata)


def runs(**change: Any) -> Callable[[Path], Path]:
    return table(made.runs_frame(), change, block_size="512")


def cut(make: Callable[[Path], Path], keep: float = 0.6) -> Callable[[Path], Path]:
    def shortened(folder: Path) -> Path:
        path = make(folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep)])
        return path

    return shortened


def directory(folder: Path) -> Path:
    (folder / "d.jsonl").mkdir()
    return folder / "d.jsonl"


def dangling(folder: Path) -> Path:
    (folder / "l.jsonl").symlink_to(folder / "nowhere")
    return folder / "l.jsonl"


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "f.jsonl")
    return folder / "f.jsonl"


def zipped_log(folder: Path) -> Path:
    return made.json_lines(
        folder / "log.jsonl.gz", [made.log_line(at, id=os.urandom(8).hex()) for at in range(500)]
    )


AZURE = "t,in_tok,out_tok\n"
LINE = json.dumps(made.log_line(0)).encode()
HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no file": (lambda folder: folder / "gone.jsonl", r"gone.jsonl: cannot be read: No such file"),
    "a directory": (directory, r"d.jsonl: is a directory"),
    "a symlink to nothing": (dangling, r"l.jsonl: cannot be read: No such file"),
    "a pipe": (fifo, r"f.jsonl: is no regular file"),
    "an empty log": (text("e.jsonl", b""), r"e.jsonl: is empty"),
    "only blank lines": (text("b.jsonl", b"\n \n\n"), r"b.jsonl: is empty"),
    "an empty CSV": (text("e.csv", b""), r"e.csv: is empty"),
    "only a header": (text("h.csv", AZURE.encode()), r"h.csv: has no rows"),
    "an empty Parquet file": (text("e.parquet", b""), r"e.parquet: is no Parquet file"),
    "a table without rows": (table(made.tenants_frame().clear(), {}), r"t.parquet: has no rows"),
    "garbage as a log": (text("g.jsonl", GARBAGE), r"g.jsonl:1: column 1: is no JSON"),
    "garbage as CSV": (text("g.csv", GARBAGE), r"g.csv:1: has not the columns"),
    "garbage as Parquet": (text("g.parquet", GARBAGE), r"g.parquet: is no Parquet file, or a broken one"),
    "garbage in gzip": (text("g.jsonl.gz", gzip.compress(GARBAGE)), r"g.jsonl.gz:1: column 1: is no JSON"),
    "garbage after gzip's mark": (text("g.jsonl", b"\x1f\x8b" + GARBAGE), r"g.jsonl:1: the gzip file is cut or broken"),
    "a cut gzip file": (cut(zipped_log), r"log.jsonl.gz:\d+: the gzip file is cut or broken"),
    "a cut log": (cut(made.access_log), r"access.jsonl:3: column \d+: is no JSON"),
    "a cut Parquet file": (cut(table(made.tenants_frame(), {})), r"t.parquet: is no Parquet file, or a broken one"),
    "a line without an end": (text("l.jsonl", b"[" * (17 * 1024**2)), r"l.jsonl:1: the line is longer than 16 MiB"),
    "a gzip bomb": (
        text("z.jsonl.gz", gzip.compress(bytes(64 * 1024**2), 9)), r"z.jsonl.gz:1: the line is longer than 16 MiB",
    ),
    "deep nesting": (text("d.jsonl", b"[" * 5_000), r"d.jsonl:1: column \d+: is no JSON"),
    "no object": (text("n.jsonl", LINE + b"\n[1,2]\n"), r"n.jsonl:2: must be a JSON object, it is list"),
    "no UTF-8": (text("u.jsonl", LINE + b'\n{"user":"\xff"}\n'), r"u.jsonl:2: column \d+: is no JSON"),
    "NaN in JSON": (text("n.jsonl", LINE + b'\n{"ttft":NaN}\n'), r"n.jsonl:2: column 9: is no JSON"),
    "no time": (text("t.jsonl", b'{"usage":{"prompt_tokens":1}}\n'), r"t.jsonl: no row has timestamp, .*--field time="),
    "no tokens": (text("t.jsonl", b'{"timestamp":1}\n'), r"t.jsonl: no row has usage.prompt_tokens, .*--field prompt="),
    "a text for tokens": (log(usage(prompt_tokens="many")), r":2: usage.prompt_tokens: 'many' is no number"),
    "a list for tokens": (log({}, usage(prompt_tokens=[1])), r":3: usage.prompt_tokens: \[1\] is no number"),
    "true for tokens": (log(usage(prompt_tokens=True)), r":2: usage.prompt_tokens: True is no number"),
    "negative tokens": (log(usage(prompt_tokens=-5)), r":2: usage.prompt_tokens: -5 is negative"),
    "half a token": (log(usage(completion_tokens=1.5)), r":2: usage.completion_tokens: 1.5 is no whole number"),
    "huge tokens": (log(usage(prompt_tokens=10**30)), r":2: usage.prompt_tokens: 1e\+30 is above 100,000,000"),
    "inf as a text": (log(usage(prompt_tokens="inf")), r":2: usage.prompt_tokens: 'inf' is not finite"),
    "no time in a row": (log({"timestamp": None}), r":2: timestamp: is missing"),
    "no point in time": (log({"timestamp": "yesterday"}), r":2: timestamp: 'yesterday' is no point in time"),
    "a time before 1970": (log({"timestamp": -5}), r":2: timestamp: -5 is no time between 1970 and 3000"),
    "a time in the far future": (log({"timestamp": 1e300}), r":2: timestamp: 1e\+300 is no time between"),
    "a time 20 years later": (log({"timestamp": "2046-01-01T00:00:00Z"}), r":2: time: is over ten years after"),
    "a negative duration": (log({"duration": -0.5}), r":2: duration: -0.5 is negative"),
    "an endless duration": (log({"duration": 1e200}), r":2: duration: 1e\+200 is above 10,000,000"),
    "an object for a user": (log({"user": {"a": 1}}), r":2: user: \{'a': 1\} is no text"),
    "a user's name of 1 MB": (log({"user": "x" * 10**6}), r":2: user: has 1,000,000 characters"),
    "hash ids as a text": (mooncake(hash_ids="abc"), r"m.jsonl:2: hash_ids: must be a list of whole numbers"),
    "negative hash ids": (mooncake(hash_ids=[-1]), r"m.jsonl:2: hash_ids: must be a list of whole numbers"),
    "no input length": (mooncake(input_length=None), r"m.jsonl:2: input_length: is missing"),
    "a missing CSV column": (text("a.csv", b"t,in_tok\n1,2\n"), r"a.csv:1: has not the columns"),
    "two CSV columns of one name": (text("a.csv", b"t,in_tok,out_tok,t\n"), r"a.csv:1: has two columns 't'"),
    "a short CSV row": (text("a.csv", f"{AZURE}1,2,3\n1,2\n".encode()), r"a.csv:3: has 2 columns, the first row has 3"),
    "a text in CSV": (text("a.csv", f"{AZURE}1,2,3\n2,x,3\n".encode()), r"a.csv:3: in_tok: 'x' is no number"),
    "NaN in CSV": (text("a.csv", f"{AZURE}1,2,3\n\nNaN,5,3\n".encode()), r"a.csv:4: t: 'NaN' is not finite"),
    "nothing in CSV": (text("a.csv", f"{AZURE}1,2,3\n2,,3\n".encode()), r"a.csv:3: in_tok: is missing"),
    "negative in CSV": (text("a.csv", f"{AZURE}1,2,-3\n".encode()), r"a.csv:2: out_tok: '-3' is negative"),
    "a missing column": (runs(run_len=None), r"t.parquet: is no trace that can be read: .* lacks the column run_len"),
    "texts for numbers": (table(made.tenants_frame(), {"in_tok": ["a", "b"]}), r":1: in_tok: 'a' is no number"),
    "NaN for a time": (table(made.tenants_frame(), {"t": [0.0, np.nan]}), r":2: t: is missing"),
    "infinite time": (table(made.tenants_frame(), {"t": [0.0, np.inf]}), r":2: t: inf is not finite"),
    "a null": (table(made.tenants_frame(), {"in_tok": [1, None]}), r":2: in_tok: is missing"),
    "lists for numbers": (table(made.tenants_frame(), {"in_tok": [[1], [2]]}), r"in_tok: must be numbers, it is List"),
    "numbers for lists": (runs(run_start=[1, 2]), r"run_start: must be lists of whole numbers, it is Int64"),
    "lists of other lengths": (runs(run_len=[[3], [1, 1]]), r":2: run_start: has not as many entries as run_len"),
    "a bomb of blocks": (runs(run_len=[[3], [2**40]]), r":2: run_len: are more blocks of 512 tokens than in_tok has"),
    "negative blocks": (runs(run_len=[[-3], [1]]), r":1: run_len: must be at least 1"),
    "a null in a list": (runs(run_len=[[None], [1]]), r"run_len: an entry is missing"),
    "no block size": (table(made.runs_frame(), {}), r"t.parquet: its metadata say no block_size"),
    "a year without times": (
        table(made.year_frame(), {"started_at": [None] * 5}), r"t.parquet:1: started_at: is missing",
    ),
    "negative cached tokens": (table(made.year_frame(), {"ct": [-1] * 5}), r"t.parquet:1: ct: -1 is negative"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_one_line_says_where_and_what(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make, says = HOSTILE[name]
    path = make(tmp_path)
    with pytest.raises(TraceFileError, match=says) as raised:
        read_trace(str(path))
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_half_written_is_left(name: str, tmp_path: Path) -> None:
    path = HOSTILE[name][0](tmp_path)
    out = tmp_path / "out" / "o.parquet"
    out.parent.mkdir()
    with pytest.raises(TraceFileError, match=HOSTILE[name][1]):
        write_trace(open_trace(str(path), ReadOptions()), out)
    assert list(out.parent.iterdir()) == []


def test_a_file_that_was_there_stays_when_the_new_one_fails(tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    out.write_text("before")
    with pytest.raises(TraceFileError):
        write_trace(open_trace(str(log(usage(prompt_tokens=-5))(tmp_path)), ReadOptions()), out)
    assert out.read_text() == "before"


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    reading = open_trace(str(made.access_log(tmp_path)), ReadOptions())
    with pytest.raises(TraceFileError, match=r"nowhere/o.parquet: cannot be written"):
        write_trace(reading, tmp_path / "nowhere" / "o.parquet")


def test_lines_of_1_mb_are_read(tmp_path: Path) -> None:
    path = log({"prompt": "x" * 2**20})(tmp_path)
    assert read_trace(str(path)).size == 2


def test_a_symlink_is_followed(tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(made.access_log(tmp_path))
    assert read_trace(str(link)).size == 4


def test_a_forced_format_is_believed(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match=r"access.jsonl:1: hash_ids: must be a list"):
        read_trace(str(made.access_log(tmp_path)), ReadOptions(TraceFormat.MOONCAKE))


@pytest.mark.parametrize("field", ["time=", "prompt=a:hours", "colour=a"])
def test_wrong_fields_are_told(field: str, tmp_path: Path) -> None:
    name, _, value = field.partition("=")
    with pytest.raises(TraceFileError, match="use NAME=FIELD"):
        read_trace(str(made.access_log(tmp_path)), ReadOptions(fields={name: value}))
