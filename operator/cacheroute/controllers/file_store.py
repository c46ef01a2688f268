"""Plans and statuses as files: where standalone mode keeps what Kubernetes keeps otherwise."""

import asyncio
import contextlib
import gzip
import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

import structlog

from cacheroute.domain.decision import Notice
from cacheroute.domain.errors import PlanFormatError, StoreError
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document, to_document
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.status import PlanStatus
from cacheroute.kube.status_document import status_document

_log = structlog.get_logger(__name__)


class FilePlanStore:
    """One gzip file for each plan, replaced by renaming; a plan is whole or the former one is still there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def path(self, ref: PlanRef) -> Path:
        """Return where a plan is stored."""
        return self._directory / f"{ref.namespace}.{ref.name}.plan.json.gz"

    async def load(self, ref: PlanRef) -> Plan | None:
        """Return the stored plan, None where there is none.

        Raises:
            StoreError: the file cannot be read.
            PlanFormatError: it can, but is no plan.
        """
        return await asyncio.to_thread(read_plan, self.path(ref))

    async def save(self, ref: PlanRef, plan: Plan) -> None:
        """Store the plan.

        Raises:
            StoreError: the file cannot be written; the former one is untouched.
        """
        text = json.dumps(to_document(plan), separators=(",", ":")).encode()
        await asyncio.to_thread(_store, self.path(ref), gzip.compress(text, mtime=0))


def read_plan(path: Path) -> Plan | None:
    """Read a plan file, None where there is none.

    Raises:
        StoreError: the file cannot be read.
        PlanFormatError: it can, but is no plan.
    """
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return from_document(json.loads(gzip.decompress(packed)))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise PlanFormatError(f"{path}: is no stored plan: {error}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole, or leave the former one as it is; the mode of that stays.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _store(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


class MemoryReporter:
    """Keeps the newest status of each plan for the HTTP endpoint and logs what is to be told once."""

    def __init__(self, known: Callable[[], Container[PlanRef]]) -> None:
        """Take how the RoutingPlans that exist are found; the status of a removed one is not shown any more."""
        self._known = known
        self._documents: dict[PlanRef, Mapping[str, Any]] = {}

    @property
    def documents(self) -> Mapping[PlanRef, Mapping[str, Any]]:
        """The newest status documents."""
        known = self._known()
        self._documents = {ref: document for ref, document in self._documents.items() if ref in known}
        return self._documents

    async def write(self, ref: PlanRef, status: PlanStatus) -> None:
        """Keep the status."""
        self._documents[ref] = status_document(status, self._documents.get(ref), time.time())

    async def notify(self, ref: PlanRef, notice: Notice) -> None:
        """Log the notice; the worker has logged the decision itself."""
        _log.debug(notice.message, plan=str(ref), reason=notice.reason)
