"""One node of a local cluster: containerd, kubelet and kube-proxy on a machine of its own."""

import json
from pathlib import Path
from typing import Any

from e2e.harness import addresses, binaries, wait
from e2e.harness.machine import Machine
from e2e.harness.oci import Image
from e2e.harness.process import run

SOCKET = "/run/containerd/containerd.sock"
GPUS = 8
GPU_LABEL = "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3"


class Node:
    """One machine that runs pods; it looks like a GPU node, with zone `zone-NUMBER`."""

    def __init__(self, number: int, machine: Machine, pause: Image) -> None:
        self.number = number
        self.machine = machine
        self.name = f"node-{number}"
        self._pause = pause
        self._files = machine.folder
        self._containerd = binaries.folder("containerd")
        self._kubernetes = binaries.folder("kubernetes")

    @property
    def cable(self) -> str:
        """The name of the switch's end of this node's cable."""
        return f"cable-{self.number}"

    def connect(self, switch: Machine, nodes: int) -> None:
        """Lay the cable to the switch, and the routes to the pods of every other of the `nodes`."""
        network = ["nsenter", f"--net={switch.network}", "--", "ip"]
        end = f"peer name eth0 netns {self.machine.first}"
        run([*network, *f"link add {self.cable} type veth {end}".split()])
        run([*network, *f"link set {self.cable} master switch up".split()])
        run([*network, *f"route add {addresses.pods(self.number)} via {addresses.node(self.number)}".split()])
        for words in (
            f"addr add {addresses.node(self.number)}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {addresses.CONTROL_PLANE}",
            *(
                f"route add {addresses.pods(n)} via {addresses.node(n)}"
                for n in range(1, nodes + 1)
                if n != self.number
            ),
        ):
            self.machine.run(["ip", *words.split()])

    def start_containerd(self) -> None:
        """Start containerd on the image store in this node's folder."""
        self._write("containerd.toml", self._containerd_config())
        self._write("cni/10-bridge.conflist", json.dumps(self._pod_network()))
        start_containerd(self.machine, self._files / "containerd.toml")

    def start_kubelet(self, kubeconfig: Path) -> None:
        """Start kubelet and kube-proxy; the API server must be ready."""
        self._write("resolv.conf", "")
        self._write("kubelet.json", json.dumps(self._kubelet_config()))
        flags = [
            f"--config={self._files / 'kubelet.json'}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={self._files / 'kubelet'}",
            f"--cert-dir={self._files / 'certificates'}",
            f"--hostname-override={self.name}",
            f"--node-ip={addresses.node(self.number)}",
            f"--node-labels={GPU_LABEL},topology.kubernetes.io/zone=zone-{self.number}",
        ]
        self.machine.start("kubelet", [self._kubernetes / "kubelet", *flags])
        start_proxy(self.machine, kubeconfig, self.name)

    def ctr(self, *arguments: str | Path) -> str:
        """Run containerd's own client on the images and containers of Kubernetes."""
        return ctr(self.machine, *arguments)

    def _write(self, name: str, text: str) -> None:
        path = self._files / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def _containerd_config(self) -> str:
        return containerd_config(self._files / "images", self._files / "cni", self._pause.reference)

    def _pod_network(self) -> dict[str, Any]:
        addressing = {
            "type": "host-local",
            "dataDir": str(self._files / "addresses"),
            "ranges": [[{"subnet": addresses.pods(self.number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        bridge = {
            "type": "bridge",
            "bridge": "pods",
            "isGateway": True,
            "ipMasq": False,
            "hairpinMode": True,
            "ipam": addressing,
        }
        ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]}

    def _kubelet_config(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            # The machine shares its control groups and its disk with whatever else runs here.
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failCgroupV1": False,
            "failSwapOn": False,
            "featureGates": {"KubeletInUserNamespace": True},
            "localStorageCapacityIsolation": False,
            "evictionHard": {"memory.available": "50Mi"},
            "imageGCHighThresholdPercent": 100,
            "makeIPTablesUtilChains": False,
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "clusterDNS": [addresses.DNS],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self._files / "resolv.conf"),
            "nodeStatusUpdateFrequency": "1s",
            "nodeLeaseDurationSeconds": 4,
            "podLogsDir": str(self._files / "pod-logs"),
            "volumePluginDir": str(self._files / "volume-plugins"),
        }


def containerd_config(store: Path, network: Path, pause: str) -> str:
    """Return containerd's configuration for the image store in the folder `store`."""
    programs = binaries.folder("containerd")
    return f"""version = 3
root = "{store}"
state = "/run/containerd/state"
[grpc]
address = "{SOCKET}"
[plugins.'io.containerd.cri.v1.images']
snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "{pause}"
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
disable_apparmor = true
netns_mounts_under_state_dir = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = "{programs / "runc"}"
SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["{programs}"]
conf_dir = "{network}"
"""


def start_containerd(machine: Machine, config: Path) -> None:
    """Start containerd and wait until it answers."""
    programs = binaries.folder("containerd")
    path = {"PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin"}
    machine.start("containerd", [programs / "containerd", "--config", config], env=path)
    wait.until(lambda: ctr(machine, "version"), within=30, what=f"containerd on {machine.name}")


def ctr(machine: Machine, *arguments: str | Path) -> str:
    """Run containerd's own client on a machine."""
    program = binaries.folder("containerd") / "ctr"
    return machine.run([program, "--address", SOCKET, "--namespace", "k8s.io", *arguments])


def start_proxy(machine: Machine, kubeconfig: Path, node_name: str) -> None:
    """Start kube-proxy, so that Service addresses work on the machine and in its pods."""
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "hostnameOverride": node_name,
        "clusterCIDR": addresses.PODS,
        "conntrack": {"maxPerCore": 0, "min": 0},
        "nftables": {"minSyncPeriod": "100ms"},
    }
    path = machine.folder / "kube-proxy.json"
    path.write_text(json.dumps(config))
    machine.start("kube-proxy", [binaries.program("kube-proxy"), "--config", path])
