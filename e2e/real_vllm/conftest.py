"""Two real engines for the session."""

import os
from collections.abc import Iterator

import pytest

from e2e.harness.errors import CannotRunError
from e2e.real_vllm import engine, environment
from e2e.real_vllm.engine import RealEngine
from e2e.real_vllm.model import write_model

DRAIN_SECONDS = 30


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealEngine, RealEngine]]:
    """Two engines: the first one ends as vLLM does by default, the second one lets its requests finish.

    A machine that is too small is an error where `CI=true`, else the tests are skipped with the reason.
    """
    try:
        environment.vllm()
    except CannotRunError as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("vllm")
    (folder / "model").mkdir()
    write_model(folder / "model")
    flags = (("--shutdown-timeout", "0"), ("--shutdown-timeout", str(DRAIN_SECONDS)))
    first, second = (RealEngine(f"vllm-{number}", folder, more) for number, more in enumerate(flags))
    try:
        yield first, second
    finally:
        first.kill()
        second.kill()


@pytest.fixture
def engines(fleet: tuple[RealEngine, RealEngine]) -> tuple[RealEngine, RealEngine]:
    """Both engines, running and with nothing cached."""
    engine.start(*fleet)
    for each in fleet:
        each.reset_cache()
    return fleet
