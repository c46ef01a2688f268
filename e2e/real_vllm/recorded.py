"""What real vLLM answered, kept in `tests/data/vllm`; `CACHEROUTE_UPDATE_GOLDEN=1` writes it again."""

import json
import os
from pathlib import Path
from typing import Any

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
