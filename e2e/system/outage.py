"""Parts of the control plane that are down, and what gateway pods do meanwhile."""

import time
import urllib.error
import urllib.request

from e2e.harness import wait
from e2e.system.installation import Installation
from e2e.system.manifests import MONITORING, SYSTEM
from e2e.system.steady import GATEWAY, GATEWAY_PODS, OPERATOR, OPERATOR_PODS, pods, rolled


class Outage:
    """Parts that are down, and what gateway pods do meanwhile."""

    def __init__(self, installation: Installation) -> None:
        self._on = installation
        self._provider = installation.cluster.provider
        self.before = installation.gateway_pods()
        self.versions = self._versions()

    def scale(self, what: str, namespace: str, replicas: int) -> None:
        self._on.cluster.kubectl("scale", what, "-n", namespace, f"--replicas={replicas}")

    def operator(self, replicas: int) -> None:
        """Stop or start the operator."""
        self.scale(OPERATOR, SYSTEM, replicas)
        if replicas:
            rolled(self._on, OPERATOR, SYSTEM)
        else:
            wait.until(lambda: not pods(self._on, OPERATOR_PODS, SYSTEM), within=60, what="no operator")

    def prometheus(self, replicas: int) -> None:
        """Stop or start Prometheus, and wait until the status says so."""
        self.scale("deployment/prometheus", MONITORING, replicas)

    def new_gateway(self) -> str:
        """Start one more gateway pod and return its name once its Envoy runs."""
        self.scale(GATEWAY, SYSTEM, len(self.before) + 1)
        wait.until(lambda: self._running_new() != "", within=120, what="the new gateway pod to run")
        return self._running_new()

    def ready_gateways(self) -> set[str]:
        """Return the gateway pods that get requests."""
        return {
            one["metadata"]["name"]
            for one in self._on.cluster.list("pods", GATEWAY_PODS, SYSTEM)
            if any(
                each["type"] == "Ready" and each["status"] == "True" for each in one["status"]["conditions"]
            )
        }

    def becomes_ready(self, pod: str, within: float = 60) -> None:
        """Wait until the new gateway pod is served and gets requests."""
        seconds = wait.until(lambda: pod in self.ready_gateways(), within=within, what=f"{pod} to be ready")
        print(f"{pod} was ready after {seconds:.1f} s")

    def stays_unready(self, pod: str, seconds: float) -> None:
        """Check for so long that the new pod gets no requests while the others do."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready = self.ready_gateways()
            assert pod not in ready
            assert set(self.before) <= ready
            time.sleep(0.5)  # between two looks

    def over(self) -> None:
        """Check that every gateway has what it had, and go back to as many as there were."""
        wait.until(lambda: self._on.condition("Ready")[0] == "True", within=60, what="Ready")
        wait.until(lambda: self._versions() == self.versions, within=20, what="the same configuration")
        self.scale(GATEWAY, SYSTEM, len(self.before))
        wait.until(
            lambda: len(self._on.gateway_pods()) == len(self.before),
            within=60,
            what="as many gateways as before",
        )

    def _running_new(self) -> str:
        for one in self._on.cluster.list("pods", GATEWAY_PODS, SYSTEM):
            started = [each.get("started") for each in one["status"].get("initContainerStatuses", [])]
            if one["metadata"]["name"] not in self.before and started == [True]:
                return str(one["metadata"]["name"])
        return ""

    def _versions(self) -> dict[str, dict[str, str]]:
        return {pod: self._on.xds_versions(pod) for pod in self.before}


def restarts(installation: Installation, pod: str) -> int:
    """Return how often a pod's containers were started again."""
    found = installation.cluster.get("pod", pod, SYSTEM)["status"]["containerStatuses"]
    return int(sum(one["restartCount"] for one in found))


def ready(address: str) -> int:
    """Return what the operator's /readyz answers, 0 where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://{address}:8080/readyz", timeout=2) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
