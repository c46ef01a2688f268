"""CacheRoute installed on a cluster by its chart, and what a test asks of it."""

import asyncio
import json
import re
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client, config

from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.store import KubePlanStore
from e2e.harness import wait
from e2e.harness.cluster import Cluster
from e2e.system import manifests
from e2e.system.manifests import MONITORING, NAMESPACE, SYSTEM
from e2e.system.streams import Streams
from e2e.system.traffic import Traffic

CHART = Path(__file__).parents[2] / "charts" / "cacheroute"
REF = PlanRef(NAMESPACE, "llama")
RATE = 120.0
"""Requests/s of every load of short requests."""
STREAM_RATE = 6.0
"""Streams/s of every load of streams; each takes about 3 s."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed."""

    cluster: Cluster

    def install(self) -> None:
        """Make the user's side, then install the chart and wait until everything is ready."""
        cluster = self.cluster
        cluster.apply(*manifests.namespaces())
        cluster.apply(manifests.engines(cluster.image), namespace=NAMESPACE)
        cluster.apply(*manifests.prometheus(), namespace=MONITORING)
        repository, tag = cluster.image.rsplit(":", 1)
        values = {
            "image.repository": repository,
            "image.tag": tag,
            "image.pullPolicy": "Never",
            "gateway.image.repository": "cacheroute.test/envoy",
            "gateway.image.tag": "e2e",
            "gateway.image.pullPolicy": "Never",
            "gateway.concurrency": "1",
            "gateway.quietSeconds": "3",
            "prometheus.url": f"http://prometheus.{MONITORING}.svc:9090",
            "log.format": "text",
        }
        chosen = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
        cluster.helm(
            "install", "cacheroute", str(CHART), "--namespace", SYSTEM, "--wait", "--timeout", "100s", *chosen
        )
        for namespace, name in ((NAMESPACE, "vllm"), (MONITORING, "prometheus")):
            cluster.kubectl("rollout", "status", f"deployment/{name}", "-n", namespace, "--timeout=60s")

    def traffic(self, rate: float = RATE) -> Traffic:
        """Return a load on the gateway's Service, by its address: the cluster's names resolve in pods only."""
        address = self.cluster.get("service", "cacheroute-gateway", SYSTEM)["spec"]["clusterIP"]
        return Traffic(f"http://{address}", rate)

    def streams(self, rate: float = STREAM_RATE) -> Streams:
        """Return a load of streams on the gateway's Service."""
        address = self.cluster.get("service", "cacheroute-gateway", SYSTEM)["spec"]["clusterIP"]
        return Streams(f"http://{address}", rate)

    def status(self, name: str = "llama") -> dict[str, Any]:
        """Return the status of a RoutingPlan, empty before the first."""
        return dict(self.cluster.get("rplan", name, NAMESPACE).get("status", {}))

    def condition(self, kind: str, name: str = "llama") -> tuple[str, str]:
        """Return status and reason of a condition."""
        for one in self.status(name).get("conditions", []):
            if one["type"] == kind:
                return one["status"], one["reason"]
        return "", ""

    def api(self) -> client.ApiClient:
        """Return the official client as administrator."""
        config.load_kube_config(str(self.cluster.provider.kubeconfig))
        return client.ApiClient()

    def plan(self) -> Plan:
        """Return the plan as it is stored in the cluster."""
        uid = self.cluster.get("rplan", "llama", NAMESPACE)["metadata"]["uid"]
        plan = asyncio.run(KubePlanStore(self.api(), lambda _ref: uid).load(REF))
        assert plan is not None
        return plan

    def ready_pods(self) -> set[str]:
        """Return the vLLM pods that are Ready."""
        return {
            pod["metadata"]["name"]
            for pod in self.cluster.list("pods", "app=vllm", NAMESPACE)
            if "deletionTimestamp" not in pod["metadata"]
            and any(
                one["type"] == "Ready" and one["status"] == "True"
                for one in pod["status"].get("conditions", [])
            )
        }

    def gateway_pods(self) -> list[str]:
        """Return the names of the gateway's pods."""
        pods = self.cluster.list("pods", "app.kubernetes.io/component=gateway", SYSTEM)
        return sorted(pod["metadata"]["name"] for pod in pods)

    def xds_versions(self, pod: str) -> dict[str, str]:
        """Return resource → version as a gateway's Envoy has them, from its administration on loopback."""
        code = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9901/config_dump?include_eds').read().decode())"
        dump = json.loads(self.cluster.kubectl("exec", "-n", SYSTEM, pod, "--", "python3", "-c", code))
        found: dict[str, str] = {}
        for part in dump["configs"]:
            for entries in part.values():
                for entry in entries if isinstance(entries, list) else ():
                    _note(entry, found)
        return found

    def engine_tokens(self) -> tuple[float, float]:
        """Return (queried, hit) tokens as all engines count them."""
        queried = hit = 0.0
        for pod in self.cluster.list("pods", "app=vllm", NAMESPACE):
            with urllib.request.urlopen(f"http://{pod['status']['podIP']}:8000/metrics", timeout=5) as answer:
                text = answer.read().decode()
            queried += _counter(text, "vllm:prefix_cache_queries_total")
            hit += _counter(text, "vllm:prefix_cache_hits_total")
        return queried, hit

    def wait_ready(self, within: float) -> float:
        """Wait until the RoutingPlan is Ready."""
        return wait.until(
            lambda: self.condition("Ready")[0] == "True", within=within, what="the RoutingPlan to be Ready"
        )


def _note(entry: dict[str, Any], found: dict[str, str]) -> None:
    for kind in ("cluster", "route_config", "endpoint_config"):
        if kind in entry and entry.get("version_info"):
            content = entry[kind]
            found[f"{kind} {content.get('name') or content.get('cluster_name')}"] = entry["version_info"]


def _counter(text: str, name: str) -> float:
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))
