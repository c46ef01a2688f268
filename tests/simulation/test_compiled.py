"""Compiled code is never stale."""

from pathlib import Path

import numba

from cacheroute.simulation.compiled import cache_folder, code_version


def test_any_changed_file_is_another_version(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (inner / "b.py").write_text("y = 1\n")
    before = code_version(tmp_path)
    assert code_version(tmp_path) == before
    (inner / "b.py").write_text("y = 2\n")
    assert code_version(tmp_path) != before


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.write_text("")
    assert cache_folder({"HOME": str(tmp_path)}, "v").is_dir()
    assert not cache_folder({"HOME": str(home)}, "v").is_relative_to(home)


def test_numba_uses_the_folder_of_this_version() -> None:
    package = Path(numba.config.CACHE_DIR)
    assert package.name == code_version(Path("operator/cacheroute/simulation").resolve())
