"""What stands in the folder of the plans when it is not what we left there."""

import asyncio
import gzip
from pathlib import Path

import pytest

from cacheroute.controllers.file_store import FilePlanStore, MemoryReporter, read_plan
from cacheroute.domain.errors import PlanFormatError, StoreError
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import Plan
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.spec import InvalidSpec, PlanRef
from cacheroute.domain.status import refused_status
from tests.domain.builders import fleet, observe, spec


@pytest.fixture
def plan() -> Plan:
    made = reconcile(1.0, observe(fleet("a", "b")), Event.INTERVAL).plan
    assert made is not None
    return made


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1f\x8b\x08",
        b"\x1f\x8b\x08\x00" + b"a" * 50,
        b"not packed",
        gzip.compress(b"[" * 100_000),
        gzip.compress(b"\xff\xfe\xff"),
        gzip.compress(b"{}"),
    ],
    ids=["empty", "truncated", "corrupt", "foreign", "deep", "binary", "another document"],
)
def test_what_is_no_stored_plan_is_said_with_its_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.plan.json.gz"
    path.write_bytes(content)
    with pytest.raises(PlanFormatError, match=r"a\.plan\.json\.gz: is no stored plan"):
        read_plan(path)


async def test_a_folder_that_is_a_file_is_an_error_of_the_store(tmp_path: Path, plan: Plan) -> None:
    folder = tmp_path / "state"
    folder.write_text("x")
    with pytest.raises(StoreError, match="cannot be written"):
        await FilePlanStore(folder).save(spec().ref, plan)


def test_a_plan_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path, plan: Plan) -> None:
    store = FilePlanStore(tmp_path)
    store.path(spec().ref).mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        asyncio.run(store.save(spec().ref, plan))
    assert [path.name for path in tmp_path.iterdir()] == [store.path(spec().ref).name]


async def test_a_removed_plan_is_not_shown_any_more() -> None:
    known = {PlanRef("default", "stays"), PlanRef("default", "goes")}
    reporter = MemoryReporter(lambda: known)
    for ref in sorted(known):
        await reporter.write(ref, refused_status(InvalidSpec(1, "no")))
    known.remove(PlanRef("default", "goes"))
    assert set(reporter.documents) == {PlanRef("default", "stays")}
