"""Compiled code: the first test that needs it waits until it is compiled, on a busy machine for minutes."""

from pathlib import Path

import pytest

COMPILATION_SECONDS = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder time for that."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(COMPILATION_SECONDS))
