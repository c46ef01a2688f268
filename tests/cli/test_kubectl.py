"""What the kubectl plugin says before it asks a cluster; the rest is tested on a real one (e2e/test_kubectl.py)."""

from pathlib import Path

import pytest

from tests.cli.running import Runner


def test_explain_of_an_impossible_key_asks_no_cluster(run: Runner, tmp_path: Path) -> None:
    ended = run.kubectl("explain", "a b", "--kubeconfig", tmp_path / "none")
    assert (ended.code, ended.out) == (2, "")
    assert "key 'a b': has ' '" in ended.err


@pytest.mark.parametrize("arguments", [("hold",), ("diff", "llama"), ("explain",)])
def test_a_missing_argument_is_a_usage_error(run: Runner, arguments: tuple[str, ...]) -> None:
    assert run.kubectl(*arguments).code == 2


def test_a_kubeconfig_that_is_not_there_is_named(run: Runner, tmp_path: Path) -> None:
    ended = run.kubectl("hold", "llama", "--kubeconfig", tmp_path / "none")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert str(tmp_path / "none") in ended.err
