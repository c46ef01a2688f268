"""The cluster is a real one, can be disturbed, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.harness import runs, wait
from e2e.harness.cluster import Cluster, running
from e2e.harness.errors import HarnessError

pytestmark = pytest.mark.cluster

PORT = 8000
SERVER = ["python3", "-m", "http.server", str(PORT), "--directory", "/opt/cacheroute"]


def _container(image: str, **more: Any) -> dict[str, Any]:
    """Return a container as strict clusters want it."""
    security = {"runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}
    return {"name": "main", "image": image, "imagePullPolicy": "Never", "securityContext": security, **more}


def _ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    leaving = "deletionTimestamp" in pod["metadata"]
    return not leaving and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _web_pods(cluster: Cluster) -> list[dict[str, Any]]:
    return [pod for pod in cluster.list("pods", "app=web") if _ready(pod)]


def _fetch(address: str) -> str:
    try:
        with urllib.request.urlopen(f"http://{address}:{PORT}/", timeout=5) as answer:
            return str(answer.read().decode())
    except OSError as error:
        raise HarnessError(f"{address}: {error}") from error


def _node_is_ready(cluster: Cluster, name: str) -> bool:
    conditions = cluster.get("node", name)["status"]["conditions"]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@pytest.fixture(scope="module")
def web(cluster: Cluster) -> Iterator[str]:
    """Two web servers, one a node, behind a Service; its address."""
    labels = {"app": "web"}
    probe = {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    pod = {
        "terminationGracePeriodSeconds": 1,
        "topologySpreadConstraints": [spread],
        "containers": [_container(cluster.image, command=SERVER, readinessProbe=probe)],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": labels, "ports": [{"port": PORT}]},
    }
    cluster.apply(deployment, service)
    wait.until(lambda: len(_web_pods(cluster)) == 2, within=30, what="two web pods Ready")
    yield cluster.get("service", "web")["spec"]["clusterIP"]
    cluster.kubectl("delete", "deployment,service", "web", "--wait=false")


def test_nodes_are_ready_and_look_like_gpu_nodes(cluster: Cluster) -> None:
    nodes = cluster.list("nodes")
    assert [node["metadata"]["name"] for node in nodes] == cluster.provider.nodes
    assert {node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes} == {
        "zone-1",
        "zone-2",
    }
    for node in nodes:
        assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
        assert node["status"]["capacity"]["nvidia.com/gpu"] == "8"
        assert _node_is_ready(cluster, node["metadata"]["name"])


def test_a_pod_on_each_node_answers_the_test(cluster: Cluster, web: str) -> None:
    pods = _web_pods(cluster)
    assert {pod["spec"]["nodeName"] for pod in pods} == set(cluster.provider.nodes)
    assert all("dependencies/" in _fetch(pod["status"]["podIP"]) for pod in pods)
    assert "dependencies/" in _fetch(web)


def test_a_pod_resolves_and_reaches_a_service(cluster: Cluster, web: str) -> None:
    script = (
        f"import urllib.request as u; print(u.urlopen('http://web.default.svc.cluster.local:{PORT}/').status)"
    )
    wait.until(lambda: _fetch(web), within=10, what="the Service answers")
    for pod in _web_pods(cluster):
        assert cluster.kubectl("exec", pod["metadata"]["name"], "--", "python3", "-c", script) == "200\n"


@pytest.mark.usefixtures("web")
def test_the_image_carries_the_package_and_its_dependencies(cluster: Cluster) -> None:
    pod = _web_pods(cluster)[0]["metadata"]["name"]
    script = (
        "import os, cacheroute, grpc, kopf, kubernetes, numpy, orjson, pydantic, uvloop; print(os.getuid())"
    )
    assert cluster.kubectl("exec", pod, "--", "python3", "-c", script) == "65532\n"


@pytest.mark.parametrize("name", ["envoy", "prometheus"])
def test_the_images_of_the_neighbours_run(cluster: Cluster, name: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "containers": [_container(f"cacheroute.test/{name}:e2e", args=["--version"])],
        },
    }
    cluster.apply(pod)
    ended = {"Succeeded", "Failed"}
    wait.until(lambda: cluster.get("pod", name)["status"]["phase"] in ended, within=30, what=f"{name} ends")
    assert "version" in cluster.kubectl("logs", name)
    assert cluster.get("pod", name)["status"]["phase"] == "Succeeded"
    cluster.kubectl("delete", "pod", name, "--wait=false")


def test_helm_reaches_the_cluster(cluster: Cluster) -> None:
    assert cluster.helm("list", "--output", "json").strip() == "[]"


@pytest.mark.usefixtures("web")
def test_a_deleted_pod_is_replaced(cluster: Cluster) -> None:
    lost = _web_pods(cluster)[0]["metadata"]["name"]
    cluster.kubectl("delete", "pod", lost, "--grace-period=0", "--force")
    wait.until(lambda: len(_web_pods(cluster)) == 2, within=30, what="a new web pod")
    assert lost not in {pod["metadata"]["name"] for pod in _web_pods(cluster)}


@pytest.mark.usefixtures("web")
def test_a_killed_container_is_restarted(cluster: Cluster) -> None:
    pod = _web_pods(cluster)[0]["metadata"]["name"]
    cluster.provider.kill_container("default", pod)

    def restarts() -> int:
        return int(cluster.get("pod", pod)["status"]["containerStatuses"][0]["restartCount"])

    wait.until(lambda: restarts() == 1, within=30, what=f"{pod} restarted")
    wait.until(lambda: len(_web_pods(cluster)) == 2, within=30, what="both web pods Ready")


def test_pods_answer_while_the_api_server_is_down(cluster: Cluster, web: str) -> None:
    pods = _web_pods(cluster)
    cluster.provider.stop_api_server()
    try:
        with pytest.raises(HarnessError):
            cluster.kubectl("get", "nodes")
        assert all(_fetch(pod["status"]["podIP"]) for pod in pods)
        assert _fetch(web)
    finally:
        cluster.provider.start_api_server()
    assert len(cluster.list("nodes")) == 2


@pytest.mark.usefixtures("web")
def test_a_cut_node_is_lost_without_a_reset_and_comes_back(cluster: Cluster) -> None:
    node = cluster.provider.nodes[1]
    (pod,) = [pod for pod in _web_pods(cluster) if pod["spec"]["nodeName"] == node]
    cluster.provider.cut_node(node)
    try:
        with pytest.raises(HarnessError, match="timed out"):
            _fetch(pod["status"]["podIP"])
        wait.until(lambda: not _node_is_ready(cluster, node), within=20, what=f"{node} NotReady")
    finally:
        cluster.provider.heal_node(node)
    wait.until(lambda: _node_is_ready(cluster, node), within=30, what=f"{node} Ready again")
    wait.until(lambda: _fetch(pod["status"]["podIP"]), within=30, what="its pod answers again")


def test_a_second_cluster_lives_beside_and_leaves_nothing(cluster: Cluster) -> None:
    name = f"second-{os.getpid()}"
    with running(name, nodes=1) as second:
        assert len(second.list("nodes")) == 1
        assert len(cluster.list("nodes")) == 2
        network = second.provider.network.readlink()
        assert _traces(name)
        assert network in _networks()
    assert not _traces(name)
    assert network not in _networks()
    assert not runs.folder(name).exists()


@pytest.mark.usefixtures("cluster")
def test_a_killed_run_leaves_only_a_folder_that_the_next_one_clears() -> None:
    name = f"killed-{os.getpid()}"
    script = f"from e2e.harness.cluster import running\nwith running({name!r}, 1): print('up', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"up\n"
        run.send_signal(signal.SIGKILL)
    wait.until(lambda: not _processes(name), within=10, what="its processes end")
    assert not _mounts(name)
    runs.clear_abandoned()
    assert not _traces(name)


def _traces(name: str) -> list[str]:
    """Return whatever on this machine names the run: processes, mounts, its folder."""
    folder = runs.folder(name)
    return [*_processes(name), *_mounts(name), *([str(folder)] if folder.exists() else [])]


def _processes(name: str) -> list[str]:
    needle = str(runs.folder(name)).encode() + b"/"
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if needle in _content(path)]


def _mounts(name: str) -> list[str]:
    return [
        line for line in Path("/proc/self/mounts").read_text().splitlines() if str(runs.folder(name)) in line
    ]


def _networks() -> set[Path]:
    """Return the network namespaces in use."""
    return {link for path in Path("/proc").glob("[0-9]*/ns/net") if (link := _target(path))}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _target(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None
