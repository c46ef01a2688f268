"""RoutingPlans, Pods and Nodes as the API server gives them, for tests."""

import copy
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MINIMAL, FULL = yaml.safe_load_all((ROOT / "docs/examples/routingplan.yaml").read_text(encoding="utf-8"))
INVALID: list[dict[str, Any]] = yaml.safe_load((ROOT / "e2e/invalid_plans.yaml").read_text(encoding="utf-8"))


def merged(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def routing_plan(patch: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    stamped = {"namespace": "inference", "uid": "uid-1", "generation": 3, **metadata}
    plan: dict[str, Any] = merged(merged(FULL, {"metadata": stamped}), patch or {})
    return plan


def pod(name: str, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "metadata": {
            "namespace": "inference",
            "name": name,
            "labels": {"app": "vllm", "model": "llama-70b"},
        },
        "spec": {"nodeName": "node-1"},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    result: dict[str, Any] = merged(body, changes)
    return result


def node(name: str = "node-1", product: str = "NVIDIA-H100-80GB-HBM3", **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "metadata": {
            "name": name,
            "labels": {"nvidia.com/gpu.product": product, "topology.kubernetes.io/zone": "z1"},
        },
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    result: dict[str, Any] = merged(body, changes)
    return result
