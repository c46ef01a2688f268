"""The provider for machines with Docker and the kind program.

It is thin and follows kind's documented commands; our own runs use the local provider, so it is the less tried of the
two. It needs Linux and root, because the tests enter the network namespace of kind's control plane.
"""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from e2e.harness import debian, images, oci, wait
from e2e.harness.errors import CannotRunError
from e2e.harness.oci import Image
from e2e.harness.process import run
from e2e.harness.progress import step

_MANIFESTS = "/etc/kubernetes/manifests"
_GPU = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


class KindCluster:
    """A `ClusterProvider` of kind."""

    def __init__(self, name: str) -> None:
        self.name = f"cacheroute-{name}"
        self._folder = Path(tempfile.mkdtemp(prefix=self.name))
        self._control_plane = f"{self.name}-control-plane"
        self._nodes: list[str] = []

    @property
    def kubeconfig(self) -> Path:
        """See `ClusterProvider`."""
        return self._folder / "kubeconfig"

    @property
    def network(self) -> Path:
        """See `ClusterProvider`."""
        pid = run(["docker", "inspect", "--format", "{{.State.Pid}}", self._control_plane]).strip()
        return Path(f"/proc/{pid}/ns/net")

    @property
    def command_prefix(self) -> list[str]:
        """See `ClusterProvider`."""
        return ["nsenter", f"--net={self.network}", "--"]

    @property
    def nodes(self) -> list[str]:
        """See `ClusterProvider`."""
        return self._nodes

    def require(self) -> None:
        """See `ClusterProvider`."""
        debian.require()
        missing = [name for name in ("docker", "kind") if shutil.which(name) is None]
        if missing:
            raise CannotRunError(
                f"the kind provider needs these programs, install them: {', '.join(missing)}"
            )

    def create(self, nodes: int) -> None:
        """See `ClusterProvider`."""
        config = self._folder / "kind.json"
        config.write_text(json.dumps(_config(nodes)))
        with step(f"starting kind cluster {self.name}", "60 s"):
            self._kind(
                "create", "cluster", "--config", config, "--kubeconfig", self.kubeconfig, "--wait", "120s"
            )
        self._use_inner_address()
        self._nodes = sorted(set(self._kind("get", "nodes").split()) - {self._control_plane})
        self.load_images(images.stable())
        for node in self._nodes:
            patch = json.dumps({"status": {"capacity": {"nvidia.com/gpu": "8"}}})
            self._kubectl("patch", "node", node, "--subresource=status", "--patch", patch)

    def load_images(self, images_: Sequence[Image]) -> None:
        """See `ClusterProvider`."""
        archive = self._folder / "images.tar"
        oci.write_archive(images_, archive)
        self._kind("load", "image-archive", archive)
        archive.unlink()

    def cut_node(self, node: str) -> None:
        """See `ClusterProvider`."""
        for chain, side in (("INPUT", "-i"), ("OUTPUT", "-o"), ("FORWARD", "-i"), ("FORWARD", "-o")):
            self._inside(node, "iptables", "-I", chain, side, "eth0", "-j", "DROP")

    def heal_node(self, node: str) -> None:
        """See `ClusterProvider`."""
        for chain, side in (("INPUT", "-i"), ("OUTPUT", "-o"), ("FORWARD", "-i"), ("FORWARD", "-o")):
            self._inside(node, "iptables", "-D", chain, side, "eth0", "-j", "DROP")

    def stop_api_server(self) -> None:
        """See `ClusterProvider`."""
        self._inside(self._control_plane, "mv", f"{_MANIFESTS}/kube-apiserver.yaml", "/root/")
        self._inside(self._control_plane, "pkill", "-KILL", "kube-apiserver")

    def start_api_server(self) -> None:
        """See `ClusterProvider`."""
        self._inside(self._control_plane, "mv", "/root/kube-apiserver.yaml", f"{_MANIFESTS}/")
        ready = ("get", "--raw", "/readyz")
        wait.until(lambda: self._kubectl(*ready) == "ok", within=120, what=f"API server of {self.name}")

    def kill_container(self, namespace: str, pod: str) -> None:
        """See `ClusterProvider`."""
        found = json.loads(self._kubectl("get", "pod", "-n", namespace, pod, "-o", "json"))
        for status in found["status"]["containerStatuses"]:
            container = status["containerID"].removeprefix("containerd://")
            kill = ("ctr", "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", container)
            self._inside(found["spec"]["nodeName"], *kill)

    def delete(self) -> None:
        """See `ClusterProvider`."""
        if self.kubeconfig.exists():
            self._kind("delete", "cluster", "--kubeconfig", self.kubeconfig)
        shutil.rmtree(self._folder)

    def _kind(self, *arguments: str | Path) -> str:
        return run(["kind", *arguments, "--name", self.name])

    def _kubectl(self, *arguments: str) -> str:
        return self._inside(
            self._control_plane, "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", *arguments
        )

    def _use_inner_address(self) -> None:
        """Point the kubeconfig at the API server as seen from inside `network`."""
        document = yaml.safe_load(self.kubeconfig.read_text())
        document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:6443"
        self.kubeconfig.write_text(json.dumps(document))

    def _inside(self, node: str, *command: str) -> str:
        return run(["docker", "exec", node, *command])


def _config(nodes: int) -> dict[str, object]:
    workers = [
        {"role": "worker", "labels": {**_GPU, "topology.kubernetes.io/zone": f"zone-{number}"}}
        for number in range(1, nodes + 1)
    ]
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": "control-plane"}, *workers],
    }
