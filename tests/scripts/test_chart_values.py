import pytest

from scripts.chart_values import Value, described

SOURCE = """# -- Whole name
name: ""
image:
  # -- Where it is
  repository: a/b
  tags: [x, 1]
# -- All of it
outer:
  inner: {}
"""


def test_values_are_described() -> None:
    assert described(SOURCE) == [
        Value("name", '""', "Whole name"),
        Value("image.repository", '"a/b"', "Where it is"),
        Value("image.tags", '["x", 1]', ""),
        Value("outer", "…", "All of it"),
        Value("outer.inner", "{}", ""),
    ]


def test_a_list_is_no_values_file() -> None:
    with pytest.raises(TypeError, match="must be a mapping"):
        described("[]")
