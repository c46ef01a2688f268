import gzip
import json
from pathlib import Path

import pytest
import yaml

from cacheroute.cli.plan_file import save_plan
from cacheroute.domain.plan_document import FORMAT, to_document
from tests.cli.running import Runner, same_as_file
from tests.domain import plans


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "a.json", tmp_path / "b.json.gz"
    save_plan(before, plans.before())
    save_plan(after, plans.after())
    return before, after


def test_table(run: Runner, files: tuple[Path, Path]) -> None:
    ended = run.cacheroute("diff", *files)
    assert (ended.code, ended.err) == (0, "")
    same_as_file("diff.txt", ended.out)


def test_json_and_yaml_say_the_same(run: Runner, files: tuple[Path, Path]) -> None:
    as_json = run.cacheroute("diff", *files, "-o", "json").out
    same_as_file("diff.json", as_json)
    assert yaml.safe_load(run.cacheroute("diff", *files, "-o", "yaml").out) == json.loads(as_json)


def test_the_limit_hides_keys_and_says_so(run: Runner, files: tuple[Path, Path]) -> None:
    out = run.cacheroute("diff", *files, "--limit", 1).out
    assert "and 3 more" in out
    assert "kept" not in out


def test_exit_code_is_like_that_of_git_diff(run: Runner, files: tuple[Path, Path]) -> None:
    assert run.cacheroute("diff", *files, "--exit-code").code == 1
    equal = run.cacheroute("diff", files[0], files[0], "--exit-code")
    assert equal.code == 0
    assert "route alike" in equal.out


def test_one_of_them_may_be_standard_input(run: Runner, files: tuple[Path, Path]) -> None:
    assert run.cacheroute("diff", "-", files[1], stdin=files[0].read_bytes()).code == 0
    assert "only one of them" in run.cacheroute("diff", "-", "-").err


def test_a_plan_may_be_yaml(run: Runner, files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump(to_document(plans.before())))
    assert "route alike" in run.cacheroute("diff", files[0], path).out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no stored plan"),
        (b"key,rate\na,1\n", "is no stored plan"),
        (b"\x1f\x8b\x08", "is no stored plan"),
        (gzip.compress(b"{}"), "plan document: format is None"),
        (json.dumps({"format": FORMAT}).encode(), "plan document: KeyError at 'groups'"),
        (
            json.dumps(
                {name: value for name, value in to_document(plans.before()).items() if name != "version"}
            ).encode(),
            "is no stored plan: 'version'",
        ),
        (b"[]", "plan document: document must be an object, not list"),
        (b"[" * 100_000, "is no stored plan"),
        (json.dumps(to_document(plans.before()) | {"version": "0"}).encode(), "the document says '0'"),
    ],
)
def test_a_file_that_is_no_plan(
    run: Runner, files: tuple[Path, Path], tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    ended = run.cacheroute("diff", path, files[0])
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err
    assert str(path) in ended.err


def test_a_file_that_is_not_there(run: Runner, files: tuple[Path, Path], tmp_path: Path) -> None:
    ended = run.cacheroute("diff", files[0], tmp_path / "none")
    assert (ended.code, ended.err) == (
        2,
        f"cacheroute: {tmp_path / 'none'}: cannot be read: No such file or directory\n",
    )
