"""Describing access logs larger than one would hold in memory: time, and the most memory that it took.

The log is made up: 20 requests/s of 50,000 users (Zipf 1.3) to 40 models (Zipf 1.5), bursty, in the order in which
the requests ended. Its size, not its contents, is the point.
"""

import datetime as dt
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson

from benchmarks.runner import Result, machine

_PART = 200_000
_USERS, _MODELS = 50_000, 40
_START = 1_700_000_000.0
_MISSES = 0.5
"""Share of requests that find nothing cached."""
_GIGABYTE = 10**9


def _lines(random: np.random.Generator, start: float) -> tuple[bytes, float]:
    """Return lines of _PART requests from ``start`` on, and when the last of them came."""
    arrival = start + random.gamma(0.3, 0.05 / 0.3, _PART).cumsum()
    duration = random.lognormal(1.0, 1.0, _PART)
    user, model = random.zipf(1.3, _PART) % _USERS, random.zipf(1.5, _PART) % _MODELS
    prompt = np.clip(random.lognormal(7.5, 1.3, _PART), 1, 200_000).astype(int)
    output = np.clip(random.lognormal(5.0, 1.0, _PART), 1, 8_000).astype(int)
    share = np.where(random.random(_PART) < _MISSES, 0.0, 0.9 + 0.1 * random.random(_PART))
    records = (
        {
            "timestamp": dt.datetime.fromtimestamp(arrival[at], dt.UTC).isoformat(timespec="milliseconds"),
            "request_id": f"req-{at:016x}",
            "user": f"user-{user[at]:05d}",
            "model": f"org/model-{model[at]}",
            "path": "/v1/chat/completions",
            "status": 200,
            "usage": {
                "prompt_tokens": int(prompt[at]),
                "completion_tokens": int(output[at]),
                "prompt_tokens_details": {"cached_tokens": int(share[at] * prompt[at])},
            },
            "duration": round(float(duration[at]), 3),
            "ttft": round(float(duration[at]) / 5, 3),
            "client": "192.0.2.4",
            "user_agent": "openai-python/1.40",
        }
        for at in np.argsort(arrival + duration)
    )
    return b"".join(orjson.dumps(one) + b"\n" for one in records), float(arrival[-1])


def _write_log(path: Path, size: int) -> int:
    """Write at least ``size`` bytes; return how many."""
    random, start, written = np.random.default_rng(5), _START, 0
    with path.open("wb") as file:
        while written < size:
            text, start = _lines(random, start)
            written += file.write(text)
    return written


def _described(path: Path) -> tuple[float, float, int]:
    """Describe a log in a process of its own; return its seconds, its peak in MB, and the requests."""
    command = [
        str(Path(sys.executable).with_name("cacheroute")),
        "trace",
        "describe",
        str(path),
        "-o",
        "json",
    ]
    output = path.with_suffix(".json")
    began = time.perf_counter()
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file)  # noqa: S603  our own program
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"trace describe ended with status {status}")
    return time.perf_counter() - began, usage.ru_maxrss / 1000, orjson.loads(output.read_bytes())["requests"]


def _parsed(path: Path) -> float:
    """Return the seconds of parsing each line, which nothing that reads JSON lines one by one can avoid."""
    began = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.perf_counter() - began


def describe_log(name: str, gigabytes: int) -> Result:
    """Describe a made-up access log once."""
    with tempfile.TemporaryDirectory(prefix="cacheroute-bench-") as folder:
        path = Path(folder) / "access.jsonl"
        size = _write_log(path, gigabytes * _GIGABYTE)
        seconds, peak, requests = _described(path)
        parsed = _parsed(path)
    return Result(
        name=name,
        value=round(seconds, 1),
        unit="s",
        baseline=round(parsed, 1),
        baseline_name="orjson.loads of every line",
        ratio=round(seconds / parsed, 3),
        runs=[round(seconds, 1)],
        machine=machine(),
        more={"peak_mb": round(peak, 1), "file_mb": round(size / 1e6, 1), "requests": requests},
    )


BENCHMARKS: dict[str, Callable[[], Result]] = {
    "trace-describe-1gb": lambda: describe_log("trace-describe-1gb", 1)
}
BY_NAME: dict[str, Callable[[], Result]] = {
    "trace-describe-10gb": lambda: describe_log("trace-describe-10gb", 10)
}
"""Needs 10 GB of disk and a quarter of an hour: only where it is named."""
