"""Store, status, Events and watches against a real API server."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.config import kube_config

from cacheroute.controllers.handlers import Feed
from cacheroute.controllers.kopf_runner import KopfRunner, WatchScope
from cacheroute.domain.conditions import Condition, ConditionStatus, ConditionType
from cacheroute.domain.decision import Notice
from cacheroute.domain.fleet import DestinationState
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.spec import Mode, PlanRef
from cacheroute.domain.status import PlanStatus, top_keys
from cacheroute.kube.lister import Lister
from cacheroute.kube.status import KubeReporter
from cacheroute.kube.store import KubePlanStore
from cacheroute.kube.world import KubeWorld
from e2e.harness.cluster import Cluster
from tests.kube.objects import MINIMAL
from tests.kube.plans import plan

pytestmark = pytest.mark.cluster

CRD = Path(__file__).parents[1] / "crds/routingplans.yaml"
NAMESPACE = "kube-tests"
REF = PlanRef(NAMESPACE, MINIMAL["metadata"]["name"])
LARGE = 45_000
"""Keys of a plan that needs several ConfigMaps."""


@dataclass(frozen=True, slots=True)
class Api:
    """A cluster with one RoutingPlan, and a client of ours."""

    cluster: Cluster
    client: client.ApiClient

    def config_maps(self) -> list[dict[str, Any]]:
        return self.cluster.list("configmaps", "app.kubernetes.io/component=plan", NAMESPACE)

    def plan(self) -> dict[str, Any]:
        return self.cluster.get("routingplan", REF.name, NAMESPACE)

    def uid(self, ref: PlanRef) -> str | None:
        return str(self.plan()["metadata"]["uid"]) if ref == REF else None


@pytest.fixture
def api(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(cluster.provider.kubeconfig))
    cluster.establish(CRD, NAMESPACE)
    cluster.apply(MINIMAL, namespace=NAMESPACE)
    yield Api(cluster, config.new_client_from_config(str(cluster.provider.kubeconfig)))
    cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for a condition of this process; TimeoutError after ``seconds``."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for is elsewhere, it sets no event of ours
            await asyncio.sleep(0.02)


async def test_plans_of_any_size_come_back_and_leave_nothing_behind(api: Api) -> None:
    store = KubePlanStore(api.client, api.uid)
    assert await store.load(REF) is None
    for keys, parts in ((3, 1), (LARGE, None), (3, 1)):
        wanted = plan(keys, str(keys))
        await store.save(REF, wanted)
        assert await store.load(REF) == wanted
        stored = api.config_maps()
        assert len(stored) == parts if parts else len(stored) > 1
        owners = {owner["uid"] for one in stored for owner in one["metadata"]["ownerReferences"]}
        assert owners == {api.uid(REF)}


async def test_parts_of_an_interrupted_save_do_no_harm_and_are_cleared(api: Api) -> None:
    store = KubePlanStore(api.client, api.uid)
    await store.save(REF, plan(LARGE, "former"))
    leftover = api.cluster.get("configmap", f"cacheroute-plan-{REF.name}-1", NAMESPACE)
    leftover["metadata"] = {
        "name": f"cacheroute-plan-{REF.name}-99",
        "labels": leftover["metadata"]["labels"],
    }
    api.cluster.apply(leftover, namespace=NAMESPACE)
    assert await store.load(REF) == plan(LARGE, "former")
    await store.save(REF, plan(3, "new"))
    assert [one["metadata"]["name"] for one in api.config_maps()] == [f"cacheroute-plan-{REF.name}-0"]


async def test_a_plan_of_a_former_object_is_not_taken_over(api: Api) -> None:
    await KubePlanStore(api.client, lambda _ref: "former-uid").save(REF, plan())
    store = KubePlanStore(api.client, api.uid)
    assert await store.load(REF) is None
    await store.save(REF, plan(4))
    assert await store.load(REF) == plan(4)


def status() -> PlanStatus:
    return PlanStatus(
        generation=1,
        mode="Active",
        conditions=tuple(
            Condition(kind, ConditionStatus.TRUE, "Fine", "all is well") for kind in ConditionType
        ),
        plan=plan(),
        destinations={DestinationState.READY: 2, DestinationState.LOST: 1},
        gateways=GatewayStatus(2, 2),
        served=None,
        arms=None,
        last_decision=None,
        top_keys=top_keys(plan()),
    )


async def test_status_is_applied_once_and_shown(api: Api) -> None:
    reporter = KubeReporter(api.client, api.uid)
    await reporter.write(REF, status())
    written = api.plan()
    await reporter.write(REF, status())
    await KubeReporter(api.client, api.uid).write(REF, status())
    assert api.plan()["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
    assert [one["type"] for one in written["status"]["conditions"]] == [kind.value for kind in ConditionType]
    row = api.cluster.kubectl("get", "rplan", REF.name, "--namespace", NAMESPACE, "--no-headers").split()
    assert row[1:6] == ["True", "Active", "40/100", "61", "2/3"]
    await reporter.write(REF, replace(status(), plan=None, top_keys=()))
    assert "plan" not in api.plan()["status"]


async def test_events_are_counted_and_described(api: Api) -> None:
    reporter = KubeReporter(api.client, api.uid)
    for _ in range(3):
        await reporter.notify(
            REF, Notice(warning=True, reason="PlanHeld", message="SourceUnreachable: no rates")
        )
    described = api.cluster.kubectl("describe", "rplan", REF.name, "--namespace", NAMESPACE)
    assert "SourceUnreachable: no rates" in described
    assert "(x3 over" in described


async def test_watches_and_lists_keep_the_world_and_end_at_once(api: Api) -> None:
    lister = Lister(api.client, (NAMESPACE,))
    world = KubeWorld(lister, lambda: None)
    await world.relist()
    assert list(world.specs()) == [REF]
    feed = Feed(asyncio.get_running_loop(), world)
    runner = KopfRunner(feed, WatchScope((NAMESPACE,)), lister.check, lambda: None)
    watching = asyncio.create_task(runner.run())
    patch = json.dumps({"spec": {"mode": "Shadow"}})
    api.cluster.kubectl("patch", "rplan", REF.name, "-n", NAMESPACE, "--type=merge", f"--patch={patch}")
    await until(lambda: world.specs()[REF].mode is Mode.SHADOW)
    api.cluster.kubectl("delete", "rplan", REF.name, "-n", NAMESPACE)
    await until(lambda: not world.specs())
    began = time.monotonic()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert time.monotonic() - began < 5
