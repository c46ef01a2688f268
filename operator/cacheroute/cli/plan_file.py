"""Plans as files: what `cacheroute plan --save` and standalone mode write, and `kubectl cacheroute plan -o json`."""

import gzip
import io
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import orjson
import yaml

from cacheroute.controllers.file_store import replace_file
from cacheroute.controllers.file_world import InputFileError
from cacheroute.domain.errors import PlanFormatError
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document, to_document

MAX_BYTES = 1024**3
"""A million planned keys are about 120 MB."""
STDIN = "-"
_GZIP = b"\x1f\x8b"


def read_plan_file(path: str) -> Plan:
    """Read a plan: JSON, gzipped or not, or YAML where the name ends in .yaml; ``-`` is standard input.

    Raises:
        InputFileError: the file cannot be read or is no plan.
    """
    name = "standard input" if path == STDIN else path
    try:
        return from_document(_document(_unpacked(_content(path), name), path))
    except OSError as error:
        raise InputFileError(f"{name}: cannot be read: {error.strerror or error}") from error
    except PlanFormatError as error:
        raise InputFileError(f"{name}: {error}") from error
    except (EOFError, KeyError, ValueError, RecursionError, zlib.error, yaml.YAMLError) as error:
        if isinstance(error, InputFileError):
            raise
        raise InputFileError(f"{name}: is no stored plan: {error}") from error


def save_plan(path: Path, plan: Plan) -> None:
    """Write the plan, gzipped where the name ends in .gz: whole, or not at all.

    Raises:
        InputFileError: the file cannot be written; a former one is untouched.
    """
    if path.exists() and not path.is_file():
        raise InputFileError(f"{path}: is no regular file, so it is not replaced")
    path = path.resolve()
    content = orjson.dumps(to_document(plan))
    packed = gzip.compress(content, mtime=0) if path.suffix == ".gz" else content + b"\n"
    try:
        replace_file(path, packed)
    except OSError as error:
        raise InputFileError(f"{path}: cannot be written: {error.strerror}") from error


def _content(path: str) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _unpacked(content: bytes, name: str) -> bytes:
    if content.startswith(_GZIP):
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InputFileError(f"{name}: is over {MAX_BYTES >> 30} GiB; is it a stored plan?")
    return content


def _document(content: bytes, path: str) -> Any:
    if path.endswith((".yaml", ".yml")):
        return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    return json.loads(content)
