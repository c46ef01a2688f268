from collections.abc import Mapping
from typing import Any

import pytest

from cacheroute.domain.errors import StoreError
from cacheroute.domain.spec import Mode, PlanRef
from cacheroute.kube.lister import Listing
from cacheroute.kube.records import node_record, pod_record
from cacheroute.kube.world import KubeWorld
from tests.kube.objects import node, pod, routing_plan

REF = PlanRef("inference", "llama-70b")
BROKEN: dict[str, Any] = {"spec": {"models": []}}


class FixedList:
    """A cluster that always lists the same; or that cannot be listed."""

    def __init__(self, plans: tuple[Mapping[str, Any], ...] = (), *, down: bool = False) -> None:
        self._plans, self._down = plans, down

    def list(self) -> Listing:
        if self._down:
            raise StoreError("listing nodes: the API server cannot be reached")
        pods = [pod_record(pod("a"))]
        return Listing(
            self._plans,
            {(one.namespace, one.name): one for one in pods},
            {"node-1": node_record(node())},
        )


class Seen:
    """A world and how often it said that something changed."""

    def __init__(self, lister: FixedList | None = None) -> None:
        self.news = 0
        self.world = KubeWorld(lister or FixedList(), self._count)

    def _count(self) -> None:
        self.news += 1


def test_events_make_a_fleet() -> None:
    seen = Seen()
    seen.world.plan_event("ADDED", routing_plan())
    seen.world.node_event("ADDED", node())
    seen.world.pod_event(None, pod("a"))
    seen.world.pod_event(None, pod("b", metadata={"namespace": "elsewhere"}))
    spec = seen.world.specs()[REF]
    assert [one.name for one in seen.world.fleet(spec).destinations] == ["a"]
    seen.world.pod_event("DELETED", pod("a"))
    assert not seen.world.fleet(spec).destinations
    assert seen.news == 5


def test_what_changes_nothing_wakes_nobody() -> None:
    seen = Seen()
    seen.world.plan_event("ADDED", routing_plan())
    seen.world.plan_event("MODIFIED", routing_plan({"status": {"observedGeneration": 3}}))
    seen.world.pod_event("ADDED", pod("a"))
    seen.world.pod_event("MODIFIED", pod("a", metadata={"resourceVersion": "7"}))
    assert seen.news == 2


def test_an_unreadable_spec_leaves_the_last_good_one() -> None:
    seen = Seen()
    seen.world.plan_event("ADDED", routing_plan())
    seen.world.plan_event("MODIFIED", routing_plan(BROKEN, generation=4))
    assert seen.world.specs()[REF].generation == 3
    invalid = seen.world.invalid()[REF]
    assert invalid.generation == 4
    assert "spec.models" in invalid.message
    seen.world.plan_event("MODIFIED", routing_plan({"spec": {"mode": "Shadow"}}, generation=5))
    assert seen.world.specs()[REF].mode is Mode.SHADOW
    assert not seen.world.invalid()


def test_another_object_of_the_same_name_inherits_nothing() -> None:
    seen = Seen()
    seen.world.plan_event("ADDED", routing_plan())
    seen.world.plan_event("MODIFIED", routing_plan(BROKEN, uid="uid-2"))
    assert not seen.world.specs()
    assert seen.world.uid(REF) == "uid-2"


@pytest.mark.parametrize(("kind", "stamp"), [("DELETED", None), ("MODIFIED", "2026-01-01T00:00:00Z")])
def test_a_plan_that_is_deleted_is_gone(kind: str, stamp: str | None) -> None:
    seen = Seen()
    seen.world.plan_event("ADDED", routing_plan())
    spec = seen.world.specs()[REF]
    seen.world.plan_event(kind, routing_plan({"metadata": {"deletionTimestamp": stamp}}))
    assert (seen.world.specs(), seen.world.uid(REF)) == ({}, None)
    assert not seen.world.fleet(spec).destinations


async def test_a_list_completes_the_world_and_heals_it() -> None:
    seen = Seen(FixedList((routing_plan(),)))
    seen.world.pod_event(None, pod("stale"))
    await seen.world.relist()
    assert [one.name for one in seen.world.fleet(seen.world.specs()[REF]).destinations] == ["a"]
    news = seen.news
    await seen.world.relist()
    assert seen.news == news


async def test_a_list_that_fails_leaves_everything() -> None:
    seen = Seen(FixedList(down=True))
    seen.world.plan_event(None, routing_plan())
    with pytest.raises(StoreError):
        await seen.world.relist()
    assert REF in seen.world.specs()
