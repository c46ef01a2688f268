"""Input files that users break, also while they are watched."""

import asyncio
from pathlib import Path

import pytest
import yaml

from cacheroute.controllers import file_world
from cacheroute.controllers.file_world import (
    DestinationEntry,
    FileWorld,
    InputFileError,
    read_destinations,
    read_plans,
)
from cacheroute.domain.fleet import DestinationState

READY, LOST = DestinationState.READY, DestinationState.LOST


def plan_text(name: str = "llama", namespace: str = "default") -> str:
    pool = {
        "name": "h100",
        "nodeSelector": {"matchLabels": {"gpu": "h100"}},
        "capacity": {"requestsPerSecond": "2", "warmPrefixes": 8},
    }
    spec = {
        "models": ["llama"],
        "destinations": {"selector": {"matchLabels": {"app": "vllm"}}},
        "nodePools": [pool],
        "keys": {"sources": [{"header": "x-tenant-id"}]},
    }
    metadata = {"name": name, "namespace": namespace}
    head = {"apiVersion": "cacheroute.dev/v1alpha1", "kind": "RoutingPlan"}
    return yaml.safe_dump({**head, "metadata": metadata, "spec": spec})


def destinations_text(**addresses: str) -> str:
    entries = [{"name": name, "address": address, "pool": "h100"} for name, address in addresses.items()]
    return yaml.safe_dump({"destinations": entries})


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    plans, destinations = tmp_path / "plans.yaml", tmp_path / "destinations.yaml"
    plans.write_text(plan_text())
    destinations.write_text(destinations_text(a="10.0.0.1", b="10.0.0.2"))
    return plans, destinations


BROKEN = {
    "binary": "a\0b",
    "deep": "[" * 3000,
    "date": "a: 2026-13-45",
    "bool": "!!bool maybe",
    "timestamp": "!!timestamp soon",
    "int": "!!int one",
    "digits": "1" * 6000,
    "half": plan_text()[:120],
    "large": " " * (file_world.MAX_FILE_BYTES + 1),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_told_in_one_line_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    for read in (read_plans, read_destinations):
        with pytest.raises(InputFileError) as error:
            read(path)
        assert str(error.value).startswith(str(path))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("default", "../../x"), ("default", "a\0b"), ("default", "n" * 129), ("a.b", "c"), ("..", "c")],
)
def test_a_name_that_could_leave_the_folder_is_refused(
    files: tuple[Path, Path], namespace: str, name: str
) -> None:
    files[0].write_text(plan_text(name, namespace))
    with pytest.raises(InputFileError, match="metadata"):
        read_plans(files[0])


def test_a_second_document_of_destinations_is_not_ignored(files: tuple[Path, Path]) -> None:
    files[1].write_text(destinations_text(a="10.0.0.1") + "---\n" + destinations_text(b="10.0.0.2"))
    with pytest.raises(InputFileError, match="2 documents"):
        read_destinations(files[1])


async def watched_change(world: FileWorld) -> None:
    changed = asyncio.Event()
    task = asyncio.create_task(world.watch(changed.set))
    told = asyncio.create_task(changed.wait())
    async with asyncio.timeout(10):
        await asyncio.wait([task, told], return_when=asyncio.FIRST_COMPLETED)
    for one in (task, told):
        one.cancel()
    await asyncio.gather(task, told, return_exceptions=True)
    assert changed.is_set()


def states(world: FileWorld) -> dict[str, DestinationState]:
    (spec,) = world.specs().values()
    return {one.name: one.state for one in world.fleet(spec).destinations}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
async def test_what_breaks_while_watched_leaves_the_last_good_in_force(
    monkeypatch: pytest.MonkeyPatch, files: tuple[Path, Path], text: str
) -> None:
    monkeypatch.setattr(file_world, "POLL_SECONDS", 0.001)
    world = FileWorld(*files)
    before = world.specs()
    files[0].write_text(text)
    await watched_change(world)
    assert world.specs() == before
    assert set(world.invalid()) == set(before)


async def test_another_address_is_another_server(
    monkeypatch: pytest.MonkeyPatch, files: tuple[Path, Path]
) -> None:
    monkeypatch.setattr(file_world, "POLL_SECONDS", 0.001)
    world = FileWorld(*files)
    former: tuple[DestinationEntry, ...] = world.entries
    for entry in former:
        assert world.observe(entry, READY)
    files[1].write_text(destinations_text(a="10.0.0.1", b="10.0.0.99"))
    await watched_change(world)
    assert states(world) == {"a": READY, "b": LOST}
    assert not world.observe(former[1], READY), "a late answer of the former address"
    assert states(world)["b"] is LOST


def test_a_server_that_changes_its_pool_is_still_known(files: tuple[Path, Path]) -> None:
    plans, destinations = files
    world = FileWorld(*files)
    for entry in world.entries:
        world.observe(entry, READY)
    plans.write_text(plan_text().replace("name: h100", "name: big"))
    destinations.write_text(destinations.read_text().replace("pool: h100", "pool: big"))
    asyncio.run(world._read_again())  # noqa: SLF001 - what the watch does when a file changes
    (spec,) = world.specs().values()
    assert [one.state for one in world.fleet(spec).destinations] == [READY, READY]
