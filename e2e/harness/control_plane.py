"""The control plane of a local cluster: etcd, API server, controller manager, scheduler and the switch."""

import json
import secrets
from pathlib import Path

from e2e.harness import addresses, binaries, wait
from e2e.harness.machine import Machine
from e2e.harness.process import run

_ETCD = "http://127.0.0.1:2379"
_ETCD_PEER = "http://127.0.0.1:2380"


class ControlPlane:
    """One machine with everything that is not a node; test clients run in its network."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.kubeconfig = machine.folder / "kubeconfig"
        self._token = secrets.token_hex(16)
        self._programs = binaries.folder("kubernetes")
        self._files = machine.folder

    def start(self) -> None:
        """Start all; ready when this returns.

        Raises:
            HarnessError: The API server does not answer in time.
        """
        self._write_secrets()
        self._make_switch()
        self._start_etcd()
        self.start_api_server()
        local: list[str | Path] = ["--kubeconfig", self.kubeconfig, "--leader-elect=false"]
        self.machine.start("scheduler", [self._programs / "kube-scheduler", *local, "--secure-port=0"])
        self.machine.start(
            "controller-manager", [self._programs / "kube-controller-manager", *local, *self._control()]
        )

    def start_api_server(self) -> None:
        """Start the API server and wait until it is ready."""
        self.machine.start("apiserver", [self._programs / "kube-apiserver", *self._api_flags()])
        wait.until(self._ready, within=60, what=f"API server ready; see {self._files / 'apiserver.log'}")

    def stop_api_server(self) -> None:
        """End the API server at once, as a crash would."""
        self.machine.stop("apiserver")

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl as the administrator, in the cluster's network."""
        kubectl: list[str | Path] = [
            *self.client_prefix,
            self._programs / "kubectl",
            "--kubeconfig",
            self.kubeconfig,
        ]
        return run([*kubectl, *arguments], stdin=stdin)

    @property
    def client_prefix(self) -> list[str]:
        """Words before a command that give it the cluster's network and nothing else."""
        return ["nsenter", f"--net={self.machine.network}", "--"]

    def _ready(self) -> bool:
        self.machine.check("etcd")
        self.machine.check("apiserver")
        return self.kubectl("get", "--raw", "/readyz") == "ok"

    def _make_switch(self) -> None:
        for words in (
            "link add switch type bridge",
            f"addr add {addresses.CONTROL_PLANE}/24 dev switch",
            "link set switch up",
            # kube-proxy rewrites Service addresses only of packets that have a way out.
            f"route add {addresses.SERVICES} dev switch",
        ):
            self.machine.run(["ip", *words.split()])

    def _write_secrets(self) -> None:
        run(["openssl", "genrsa", "-out", self._files / "accounts.key", "2048"])
        (self._files / "tokens.csv").write_text(f'{self._token},admin,admin,"system:masters"\n')
        cluster = {
            "server": addresses.API_SERVER,
            "certificate-authority": str(self._files / "certificates/apiserver.crt"),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self._token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
            "current-context": "e2e",
        }
        self.kubeconfig.write_text(json.dumps(config, indent=2))
        self.kubeconfig.chmod(0o600)

    def _start_etcd(self) -> None:
        flags = [
            f"--data-dir={self._files / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={_ETCD}",
            f"--advertise-client-urls={_ETCD}",
            f"--listen-peer-urls={_ETCD_PEER}",
            f"--initial-advertise-peer-urls={_ETCD_PEER}",
            f"--initial-cluster=default={_ETCD_PEER}",
        ]
        self.machine.start("etcd", [binaries.program("etcd"), *flags])

    def _api_flags(self) -> list[str]:
        key = self._files / "accounts.key"
        return [
            f"--etcd-servers={_ETCD}",
            f"--cert-dir={self._files / 'certificates'}",
            f"--bind-address={addresses.CONTROL_PLANE}",
            f"--advertise-address={addresses.CONTROL_PLANE}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={self._files / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            f"--service-cluster-ip-range={addresses.SERVICES}",
            "--allow-privileged",
            "--kubelet-preferred-address-types=InternalIP",
        ]

    def _control(self) -> list[str]:
        return [
            "--secure-port=0",
            f"--service-account-private-key-file={self._files / 'accounts.key'}",
            "--use-service-account-credentials",
            f"--flex-volume-plugin-dir={self._files / 'volume-plugins'}",
            # The default of 20 requests a second makes the start of its many controllers take seconds.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            f"--root-ca-file={self._files / 'certificates/apiserver.crt'}",
            "--node-monitor-grace-period=6s",
            "--node-monitor-period=1s",
        ]
