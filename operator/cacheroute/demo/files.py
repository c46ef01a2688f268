"""The input files of standalone mode, as the demonstration writes them."""

from pathlib import Path

import yaml

from cacheroute.demo.load import TENANT_HEADER

NAMESPACE, NAME, MODEL, POOL = "demo", "tenants", "demo-70b", "h100"


def write_plan(path: Path, mode: str, interval_seconds: int, window_seconds: int) -> None:
    """Write the RoutingPlan; the old file stays whole until the new one is."""
    plan = {
        "apiVersion": "cacheroute.dev/v1alpha1",
        "kind": "RoutingPlan",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "models": [MODEL],
            "mode": mode,
            "destinations": {"selector": {"matchLabels": {"app": "vllm"}}},
            "nodePools": [
                {
                    "name": POOL,
                    "nodeSelector": {"matchLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
                    "capacity": {"requestsPerSecond": "20", "warmPrefixes": 256},
                }
            ],
            "keys": {"sources": [{"header": TENANT_HEADER}]},
            "rates": {"windowSeconds": window_seconds},
            "planning": {"policy": "Paper", "intervalSeconds": interval_seconds},
            "failover": {"replacementGraceSeconds": 300},
        },
    }
    _replace(path, plan)


def write_destinations(path: Path, engines: dict[str, str], port: int) -> None:
    """Write destinations.yaml: name → address."""
    entries = [
        {"name": name, "address": address, "port": port, "pool": POOL} for name, address in engines.items()
    ]
    _replace(path, {"destinations": entries})


def _replace(path: Path, content: object) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    temporary.replace(path)
