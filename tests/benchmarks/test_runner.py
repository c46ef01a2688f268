"""The runner's files and its command line."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.planner import transcription
from benchmarks.runner import Result, machine, write


def test_a_result_is_one_flat_object_and_leaves_nothing_else(tmp_path: Path) -> None:
    result = Result("a-name", 2.0, "ms", 4.0, "other", 0.5, [2.0], machine(), {"paper": 345.0})
    path = write(result, tmp_path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert {"name", "value", "unit", "baseline", "ratio", "machine", "runs", "paper"} <= set(document)
    assert document["machine"]["numpy"]
    assert list(tmp_path.iterdir()) == [tmp_path / "a-name.json"]


def test_an_unknown_name_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["planner-papr"]) == 2
    message = capsys.readouterr().err
    assert "'planner-papr'" in message
    assert "planner-paper-top" in message


def test_the_baseline_is_the_algorithm() -> None:
    assert transcription([6.0, 1.0, 1.0], 4) == {0: [0, 1, 2], 1: [3]}
