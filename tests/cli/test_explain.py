import json
from pathlib import Path

import pytest
import yaml

from cacheroute.cli.plan_file import save_plan
from tests.cli.running import Runner, same_as_file
from tests.domain import plans

KEYS = ("bolt", "wide", "kept", "gone", "nobody")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    save_plan(path, plans.after())
    return path


@pytest.mark.parametrize("key", KEYS)
def test_table(run: Runner, plan: Path, key: str) -> None:
    ended = run.cacheroute("explain", key, "--plan", plan)
    assert (ended.code, ended.err) == (0, "")
    same_as_file(f"explain-{key}.txt", ended.out)


@pytest.mark.parametrize("key", KEYS)
def test_json_and_yaml_say_the_same(run: Runner, plan: Path, key: str) -> None:
    as_json = run.cacheroute("explain", key, "--plan", plan, "-o", "json").out
    same_as_file(f"explain-{key}.json", as_json)
    assert yaml.safe_load(run.cacheroute("explain", key, "-p", plan, "-o", "yaml").out) == json.loads(as_json)


def test_another_spelling_is_told(run: Runner, plan: Path) -> None:
    assert (
        "bolt (asked for as BOLT; keys are lower case)" in run.cacheroute("explain", "BOLT", "-p", plan).out
    )


def test_brackets_are_no_markup(run: Runner, plan: Path) -> None:
    ended = run.cacheroute("explain", "[red]x", "-p", plan)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "key '[red]x': has '['" in ended.err


def test_a_key_without_plan_is_a_usage_error(run: Runner, tmp_path: Path) -> None:
    assert run.cacheroute("explain", "bolt").code == 2
    assert run.cacheroute("explain", "bolt", "-p", tmp_path / "none").code == 2


def test_a_plan_from_standard_input(run: Runner, plan: Path) -> None:
    assert "Rebalanced" in run.cacheroute("explain", "bolt", "-p", "-", stdin=plan.read_bytes()).out
