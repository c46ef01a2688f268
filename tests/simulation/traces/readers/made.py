"""Small files of every format."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


def log_line(at: int, **more: object) -> dict[str, object]:
    return {
        "timestamp": (START + timedelta(seconds=at)).isoformat(),
        "user": f"user-{at % 3}",
        "model": "llama",
        "path": "/v1/chat/completions",
        "usage": {
            "prompt_tokens": 100 + at,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 96},
        },
        "duration": 1.5,
        "ttft": 0.25,
        **more,
    }


def json_lines(path: Path, records: list[Any]) -> Path:
    content = "".join(json.dumps(one) + "\n" for one in records).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def access_log(folder: Path, rows: int = 4) -> Path:
    return json_lines(folder / "access.jsonl", [log_line(at) for at in range(rows)])


def envoy_line(at: int) -> dict[str, object]:
    return {
        "start_time": (START + timedelta(seconds=at))
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z"),
        "upstream_cluster": "inference/llama",
        "key": f"tenant-{at % 2}",
        "plan": "inference/llama",
        "prompt_tokens": 100,
        "cached_tokens": 64,
        "duration": 1500,
        "ttft": 250,
    }


def mooncake(folder: Path) -> Path:
    rows = [
        {"timestamp": 27_000, "input_length": 1_030, "output_length": 5, "hash_ids": [46, 47, 48]},
        {"timestamp": 30_500, "input_length": 512, "output_length": 7, "hash_ids": [46]},
    ]
    return json_lines(folder / "trace.jsonl", rows)


def azure(folder: Path, *, published: bool = True) -> Path:
    if published:
        path = folder / "azure.csv"
        path.write_text(
            "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
            "2023-11-16 18:17:04.0319600,3180,8\r\n"
        )
    else:
        path = folder / "azure.csv.gz"
        path.write_bytes(gzip.compress(b"t,in_tok,out_tok\n0.0,374,44\n4.314579,396,109\n\n"))
    return path


def year_frame() -> pl.DataFrame:
    origin = datetime(1970, 10, 30, 20, tzinfo=UTC)
    starts = [origin + timedelta(seconds=one) for one in (5, 0, 1, 9, 12)]
    return pl.DataFrame(
        {
            "invocation_id": [1, 2, 3, 4, 5],
            "function_name": ["chat", "chat_stream", "image", "chat", "chat"],
            "chute_id": ["v32", "v32", "v32", "v32", "v32"],
            "user_id": ["u1", "u1", "u1", "u1", "u2"],
            "rehash_round": [4, 4, 4, 4, 4],
            "instance_id": ["i1"] * 5,
            "started_at": starts,
            "completed_at": [starts[0] + timedelta(seconds=2), None, None, None, None],
            "it": [100, 50, 7, 130, None],
            "ot": [20, 5, 7, None, 3],
            "ct": [64, 0, None, None, 0],
            "ttft": [0.5, float("nan"), None, None, 1.0],
        }
    )


def parquet(path: Path, frame: pl.DataFrame, **metadata: str) -> Path:
    frame.write_parquet(path, metadata=metadata)
    return path


def runs_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "t": [0.0, 1.0],
            "session_derived": [0, 0],
            "in_tok": [1_030, 512],
            "out_tok": [5, 7],
            "run_start": [[46], [46]],
            "run_len": [[3], [1]],
        }
    )


def sessions_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "session": [1, 1, 2],
            "t": [0.0, 19.0, 0.0],
            "model": ["opus", "opus", "haiku"],
            "in_tok": [640, 700, 64],
            "out_tok": [5, 7, 1],
            "run_start": [[0], [0, 10], [0]],
            "run_len": [[10], [10, 1], [1]],
            "api_time": [3.0, 4.0, 1.0],
            "ttft": [1.0, 2.0, 0.5],
        }
    )


def tenants_frame() -> pl.DataFrame:
    return pl.DataFrame({"t": [0.0, 0.5], "tenant": [104, 20], "in_tok": [841, 456], "out_tok": [43, 2]})
