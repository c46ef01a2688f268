"""The kubectl plugin against a real API server: explain, diff, hold and resume."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from cacheroute.cli.plan_file import save_plan
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.store import KubePlanStore
from e2e.harness.cluster import Cluster
from tests.cli.running import Ended, Runner
from tests.domain import plans
from tests.kube.objects import MINIMAL

pytestmark = pytest.mark.cluster

CRD = Path(__file__).parents[1] / "crds/routingplans.yaml"
NAMESPACE = "kubectl-tests"
NAME = "llama"


class Api:
    """A cluster with one RoutingPlan, and the plugin as its user calls it."""

    def __init__(self, cluster: Cluster, run: Runner, kubeconfig: Path) -> None:
        self.cluster, self.kubeconfig = cluster, kubeconfig
        self._run = run
        self._client: client.ApiClient = config.new_client_from_config(str(kubeconfig))

    def add(self, name: str, plan: Plan | None = None, mode: str = "Active") -> None:
        body = {**MINIMAL, "metadata": {"name": name}, "spec": {**MINIMAL["spec"], "mode": mode}}
        self.cluster.apply(body, namespace=NAMESPACE)
        if plan is not None:
            uid = self.cluster.get("routingplan", name, NAMESPACE)["metadata"]["uid"]
            store = KubePlanStore(self._client, lambda _ref: str(uid))
            asyncio.run(store.save(PlanRef(NAMESPACE, name), plan))

    def mode(self, name: str = NAME) -> Any:
        return self.cluster.get("routingplan", name, NAMESPACE)["spec"]["mode"]

    def plugin(self, *arguments: object, kubeconfig: Path | None = None) -> Ended:
        access = ("--kubeconfig", kubeconfig or self.kubeconfig, "--namespace", NAMESPACE)
        return self._run.kubectl(*arguments, *access)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capsys)


@pytest.fixture
def api(cluster: Cluster, run: Runner) -> Iterator[Api]:
    cluster.establish(CRD, NAMESPACE)
    yield Api(cluster, run, cluster.provider.kubeconfig)
    cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")


def failed(ended: Ended, code: int = 1) -> str:
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    return ended.err


def test_explain_prints_what_cacheroute_explain_prints(api: Api, run: Runner, tmp_path: Path) -> None:
    api.add(NAME, plans.after())
    save_plan(tmp_path / "plan.json", plans.after())
    for output in ("table", "yaml", "json"):
        wanted = run.cacheroute("explain", "wide", "-p", tmp_path / "plan.json", "-o", output).out
        assert api.plugin("explain", "wide", NAME, "-o", output).out == wanted
        assert api.plugin("explain", "wide", "-o", output).out == wanted, "the only RoutingPlan needs no name"


def test_explain_asks_for_a_name_where_there_is_none_or_several(api: Api) -> None:
    assert f"namespace {NAMESPACE} has no RoutingPlan" in failed(api.plugin("explain", "wide"))
    api.add(NAME)
    assert "there is none yet" in failed(api.plugin("explain", "wide"))
    api.add("mistral")
    told = failed(api.plugin("explain", "wide"))
    assert told == f"cacheroute: namespace {NAMESPACE} has RoutingPlans {NAME}, mistral: name one\n"


def test_diff_compares_the_plan_in_force_with_a_file(api: Api, tmp_path: Path) -> None:
    api.add(NAME, plans.before())
    file = tmp_path / "plan.json.gz"
    save_plan(file, plans.after())
    ended = api.plugin("diff", NAME, file, "--exit-code", "-o", "json")
    assert ended.code == 1
    assert json.loads(ended.out)["keys"] == {"moved": 2, "admitted": 1, "dropped": 1}
    save_plan(file, plans.before())
    equal = api.plugin("diff", NAME, file, "--exit-code")
    assert (equal.code, "route alike" in equal.out) == (0, True)
    failed(api.plugin("diff", NAME, tmp_path / "none"), code=2)


def test_the_plan_as_json_is_a_plan_file(api: Api, run: Runner) -> None:
    api.add(NAME, plans.after())
    printed = api.plugin("plan", NAME, "-o", "json").out
    assert "Rebalanced" in run.cacheroute("explain", "bolt", "-p", "-", stdin=printed.encode()).out


def test_hold_and_resume_undo_each_other(api: Api) -> None:
    api.add(NAME)
    held = api.plugin("hold", NAME)
    assert (held.code, held.out) == (0, f"RoutingPlan {NAMESPACE}/{NAME}: mode Active to Hold\n")
    assert api.mode() == "Hold"
    assert api.plugin("hold", NAME).out.endswith("is in mode Hold already, nothing changed\n")
    assert api.plugin("resume", NAME).out == f"RoutingPlan {NAMESPACE}/{NAME}: mode Hold to Active\n"
    assert api.mode() == "Active"
    assert "there is none yet" in failed(api.plugin("hold", "none"))


@pytest.mark.parametrize("command", ["hold", "resume"])
def test_a_plan_in_shadow_is_left_alone(api: Api, command: str) -> None:
    """Hold would begin to route by plan, and resume would not lead back to Shadow."""
    api.add(NAME, mode="Shadow")
    assert "spec.mode is Shadow" in failed(api.plugin(command, NAME))
    assert api.mode() == "Shadow"


def test_hold_without_the_right_to_patch_is_refused_by_the_api_server(api: Api, tmp_path: Path) -> None:
    api.add(NAME)
    token = reader_token(api.cluster)
    admin = yaml.safe_load(api.kubeconfig.read_text(encoding="utf-8"))
    admin["users"] = [{"name": one["name"], "user": {"token": token}} for one in admin["users"]]
    restricted = tmp_path / "kubeconfig"
    restricted.write_text(yaml.safe_dump(admin), encoding="utf-8")
    told = failed(api.plugin("hold", NAME, kubeconfig=restricted))
    assert told.startswith(f"cacheroute: RoutingPlan {NAMESPACE}/{NAME}: the API server answered 403: ")
    assert api.mode() == "Active"


def reader_token(cluster: Cluster) -> str:
    """Return a token of somebody who may read RoutingPlans only."""
    for arguments in (
        ("create", "serviceaccount", "reader"),
        ("create", "role", "reader", "--verb=get,list", "--resource=routingplans.cacheroute.dev"),
        ("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={NAMESPACE}:reader"),
    ):
        cluster.kubectl(*arguments, "--namespace", NAMESPACE)
    return cluster.kubectl("create", "token", "reader", "--namespace", NAMESPACE).strip()
