"""The input files of standalone mode, as the demonstration writes them."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from cacheroute.controllers.file_store import replace_file
from cacheroute.demo.load import TENANT_HEADER
from cacheroute.domain.spec import PolicyName

NAMESPACE, NAME, MODEL, POOL = "demo", "tenants", "demo-70b", "h100"
REQUESTS_PER_SECOND = "20"
"""Of one engine: simulated ones of this size keep up with more than the machine can send."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What differs from run to run and from phase to phase.

    Attributes:
        mode: spec.mode.
        policy: spec.planning.policy.
        interval_seconds: from one plan to the next.
        window_seconds: over which rates are measured.
        warm_prefixes: how many tenants' prefixes one engine keeps.
    """

    mode: str
    policy: PolicyName
    interval_seconds: int
    window_seconds: int
    warm_prefixes: int


def write_plan(path: Path, plan: PlanFile) -> None:
    """Write the RoutingPlan; the old file stays whole until the new one is."""
    capacity = {"requestsPerSecond": REQUESTS_PER_SECOND, "warmPrefixes": plan.warm_prefixes}
    selector = {"matchLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}
    spec = {
        "models": [MODEL],
        "mode": plan.mode,
        "destinations": {"selector": {"matchLabels": {"app": "vllm"}}},
        "nodePools": [{"name": POOL, "nodeSelector": selector, "capacity": capacity}],
        "keys": {"sources": [{"header": TENANT_HEADER}]},
        "rates": {"windowSeconds": plan.window_seconds},
        "planning": {"policy": plan.policy.value, "intervalSeconds": plan.interval_seconds},
        "failover": {"replacementGraceSeconds": 300},
    }
    metadata = {"name": NAME, "namespace": NAMESPACE}
    document = {"apiVersion": "cacheroute.dev/v1alpha1", "kind": "RoutingPlan", "metadata": metadata}
    _replace(path, {**document, "spec": spec})


def write_destinations(path: Path, engines: dict[str, str], port: int) -> None:
    """Write destinations.yaml: name → address."""
    entries = [
        {"name": name, "address": address, "port": port, "pool": POOL} for name, address in engines.items()
    ]
    _replace(path, {"destinations": entries})


def _replace(path: Path, content: object) -> None:
    replace_file(path, yaml.safe_dump(content, sort_keys=False).encode())
