"""What real vLLM answered, kept in `tests/data/vllm`; `CACHEROUTE_UPDATE_GOLDEN=1` writes it again."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

FOLDER = Path(__file__).parents[2] / "tests/data/vllm"


def updating() -> bool:
    """Whether this run writes the recordings."""
    return os.environ.get("CACHEROUTE_UPDATE_GOLDEN") == "1"


def read(name: str) -> Any:
    """Return a recording."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, content: Any) -> None:
    """Write a recording, one line for each item of its lists."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    head = {key: value for key, value in content.items() if not isinstance(value, list)}
    lists = {key: value for key, value in content.items() if isinstance(value, list)}
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, items in lists.items():
        lines = ",\n  ".join(json.dumps(item, ensure_ascii=True) for item in items)
        parts.append(f"{json.dumps(key)}: [\n  {lines}\n]")
    (FOLDER / f"{name}.json").write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def families(text: str) -> list[dict[str, Any]]:
    """Return what can be compared of a scrape's ``vllm:`` metrics, by name: type, labels and the bounds of buckets."""
    named = (one for one in text_string_to_metric_families(text) if one.name.startswith("vllm:"))
    kept = (one for one in named if not one.name.endswith("_created"))
    return sorted((_family(one) for one in kept), key=lambda one: str(one["name"]))


def _family(family: Metric) -> dict[str, Any]:
    labels = {label for sample in family.samples for label in sample.labels}
    values = {
        label: sorted(_values(family, label)) for label in sorted(labels & {"finished_reason", "source"})
    }
    bounds = list(dict.fromkeys(_values(family, "le")))
    return {
        "name": family.name,
        "type": family.type,
        "labels": sorted(labels),
        "values": values,
        "buckets": bounds,
    }


def _values(family: Metric, label: str) -> Iterator[str]:
    return (sample.labels[label] for sample in family.samples if label in sample.labels)
