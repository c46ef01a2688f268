from scripts.generate import stale


def test_generated_files_are_fresh() -> None:
    assert stale() == [], "run `make docs`"
