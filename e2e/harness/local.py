"""The provider for any Linux machine with root: namespaces for machines, no container engine."""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from e2e.harness import addresses, debian, images, oci, runs, stores, wait
from e2e.harness.control_plane import ControlPlane
from e2e.harness.errors import HarnessError
from e2e.harness.machine import Machine
from e2e.harness.node import GPUS, Node, start_proxy
from e2e.harness.oci import Image
from e2e.harness.process import run
from e2e.harness.progress import step

_MANIFEST = Path(__file__).parent / "manifests" / "coredns.yaml"


class LocalCluster:
    """A `ClusterProvider` of network, mount and process namespaces."""

    def __init__(self, name: str, *, outlives_us: bool = False) -> None:
        """Name a cluster.

        Args:
            name: Two clusters at once need two names.
            outlives_us: Keep it when this process ends, for the command line; else the kernel ends it with us.
        """
        self.name = name
        self._outlives_us = outlives_us
        self._machines: list[Machine] = []
        self._nodes: dict[str, Node] = {}

    @property
    def kubeconfig(self) -> Path:
        """See `ClusterProvider`."""
        return self._control_plane.kubeconfig

    @property
    def network(self) -> Path:
        """See `ClusterProvider`."""
        return self._control_plane.machine.network

    @property
    def command_prefix(self) -> list[str]:
        """See `ClusterProvider`."""
        return self._control_plane.client_prefix

    @property
    def nodes(self) -> list[str]:
        """See `ClusterProvider`."""
        return list(self._nodes)

    def require(self) -> None:
        """See `ClusterProvider`."""
        debian.require()

    def create(self, nodes: int) -> None:
        """See `ClusterProvider`."""
        if not 1 <= nodes <= addresses.MOST_NODES:
            raise HarnessError(
                f"cluster {self.name}: {nodes} nodes; between 1 and {addresses.MOST_NODES} are possible"
            )
        stable = images.stable()
        store = stores.seed(stable)
        with step(f"starting cluster {self.name} with {nodes} nodes", "8 s"):
            lock = runs.claim(self.name)
            try:
                self._boot(nodes, stable[0], lock)
                self._start(store)
            except BaseException:
                runs.end(self.name)
                raise

    def load_images(self, images_: Sequence[Image]) -> None:
        """See `ClusterProvider`."""
        known = images.layer_digests(images.stable())
        archive = runs.folder(self.name) / "images.tar"
        oci.write_archive(images_, archive, without=known)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.ctr("images", "import", archive), self._nodes.values()))
        archive.unlink()

    def cut_node(self, node: str) -> None:
        """See `ClusterProvider`."""
        self._cable(node, "down")

    def heal_node(self, node: str) -> None:
        """See `ClusterProvider`."""
        self._cable(node, "up")

    def stop_api_server(self) -> None:
        """See `ClusterProvider`."""
        self._control_plane.stop_api_server()

    def start_api_server(self) -> None:
        """See `ClusterProvider`."""
        self._control_plane.start_api_server()

    def kill_container(self, namespace: str, pod: str) -> None:
        """See `ClusterProvider`; asks containerd, so that it works while the API server is down."""
        labels = {"namespace": namespace, "name": pod}
        chosen = ",".join(f'labels."io.kubernetes.pod.{key}"=={value}' for key, value in labels.items())
        for node in self._nodes.values():
            known = node.ctr("containers", "ls", "-q", f'{chosen},labels."io.cri-containerd.kind"==container')
            running = {line.split()[0] for line in node.ctr("tasks", "ls").splitlines() if "RUNNING" in line}
            for container in running.intersection(known.split()):
                node.ctr("tasks", "kill", "--signal", "SIGKILL", container)

    def delete(self) -> None:
        """See `ClusterProvider`."""
        runs.end(self.name)

    def _boot(self, nodes: int, pause: Image, lock: int) -> None:
        """Boot the machines, from the main thread: the kernel ties them to the thread that made them."""
        try:
            self._control_plane = ControlPlane(self._machine("control-plane", lock))
            for number in range(1, nodes + 1):
                node = Node(number, self._machine(f"node-{number}", lock), pause)
                self._nodes[node.name] = node
        finally:
            os.close(lock)

    def _machine(self, name: str, lock: int) -> Machine:
        path = runs.folder(self.name) / name
        machine = Machine.boot(name, path, images.init(), lock=lock, outlives_us=self._outlives_us)
        self._machines.append(machine)
        runs.remember(self.name, self._machines)
        return machine

    def _start(self, store: Path) -> None:
        with ThreadPoolExecutor() as pool:
            waiting = [pool.submit(_prepare, node, store) for node in self._nodes.values()]
            self._control_plane.start()
            for each in waiting:
                each.result()
        for node in self._nodes.values():
            node.connect(self._control_plane.machine, len(self._nodes))
            node.start_kubelet(self.kubeconfig)
        start_proxy(self._control_plane.machine, self.kubeconfig, self.nodes[0])
        self._control_plane.kubectl("apply", "--filename", str(_MANIFEST))
        wait.until(self._nodes_ready, within=60, what=f"cluster {self.name}: nodes Ready")
        self._add_gpus()
        wait.until(self._dns_ready, within=60, what=f"cluster {self.name}: DNS ready")

    def _nodes_ready(self) -> bool:
        path = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
        states = self._control_plane.kubectl("get", "nodes", "-o", f"jsonpath={path}").split()
        return states == ["True"] * len(self._nodes)

    def _add_gpus(self) -> None:
        patch = json.dumps({"status": {"capacity": {"nvidia.com/gpu": str(GPUS)}}})
        for name in self._nodes:
            self._control_plane.kubectl("patch", "node", name, "--subresource=status", "--patch", patch)

    def _dns_ready(self) -> bool:
        path = "jsonpath={.status.numberReady}"
        ready = self._control_plane.kubectl("get", "daemonset", "-n", "kube-system", "coredns", "-o", path)
        return ready == str(len(self._nodes))

    def _cable(self, node: str, state: str) -> None:
        switch = self._control_plane.machine.network
        run(["nsenter", f"--net={switch}", "--", "ip", "link", "set", self._nodes[node].cable, state])


def _prepare(node: Node, store: Path) -> None:
    stores.clone(store, node.machine.folder / "images")
    node.start_containerd()
