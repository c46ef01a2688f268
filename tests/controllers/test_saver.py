"""What is stored last is the newest plan."""

import asyncio
from pathlib import Path

import pytest

from cacheroute.controllers import saver
from cacheroute.controllers.file_store import FilePlanStore
from cacheroute.controllers.saver import Saver
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import Plan
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.seating import repair
from tests.domain.builders import fleet, observe, spec


def planned(now: float, plan: Plan | None = None) -> Plan:
    made = reconcile(
        now, observe(fleet("a", "b") if plan else fleet("a", "b", "c"), plan=plan), Event.INTERVAL
    )
    assert made.plan is not None
    return made.plan


async def test_a_repair_that_could_not_be_stored_never_replaces_a_newer_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saver, "RETRY_SECONDS", 0.05)
    store = FilePlanStore(tmp_path)
    keeper = Saver(spec().ref, store)
    first = planned(0.0)
    await keeper.save(first)
    running = asyncio.create_task(keeper.run())
    file = store.path(spec().ref)
    file.unlink()
    file.mkdir()  # a folder is in the way of the file
    repaired = repair(first, fleet("a", "b", lost=("c",)), 10.0)
    keeper.later(repaired)
    async with asyncio.timeout(10):
        for due in (True, False):  # a try begins, and when it has failed the next one is due
            while keeper._work.is_set() is due:  # noqa: SLF001
                await asyncio.sleep(0.001)
    file.rmdir()
    second = planned(400.0, repaired)
    await keeper.save(second)
    keeper.later(second)
    await asyncio.sleep(0.2)  # several retries' time
    running.cancel()
    stored = await store.load(spec().ref)
    assert stored is not None
    assert stored.revision == second.revision != repaired.revision
