"""The folders of running clusters, and how what is left of one is cleared.

Each run has a folder `runs/NAME` in the cache with a lock file. The first process of every machine of the run keeps
that lock, so the lock tells, without trusting a process id, whether anything of the run still lives.
"""

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from e2e.harness import cache, wait
from e2e.harness.errors import HarnessError
from e2e.harness.machine import Machine
from e2e.harness.progress import say


def folder(name: str) -> Path:
    """Return the folder of the run `name`, which may not exist."""
    return cache.root() / "runs" / name


def claim(name: str) -> int:
    """Make the folder of a new run and return its locked file descriptor.

    Raises:
        HarnessError: A cluster of that name is up.
    """
    clear_abandoned()
    path = folder(name)
    with _changing():
        if path.exists():
            raise HarnessError(f"cluster {name} is up already; take it down with: down --name {name}")
        path.mkdir()
        lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def remember(name: str, machines: list[Machine]) -> None:
    """Store what `end` must stop."""
    stored = folder(name) / "machines.json"
    fresh = stored.with_suffix(".partial")
    fresh.write_text(json.dumps([[machine.name, machine.holder, machine.first] for machine in machines]))
    fresh.rename(stored)


def end(name: str) -> None:
    """Stop whatever lives of a run and remove its folder; nothing happens where there is none.

    Raises:
        HarnessError: Something survived.
    """
    with _changing():
        _end(name)


def _end(name: str) -> None:
    path = folder(name)
    if not path.exists():
        return
    if _alive(path):
        for _, holder, _ in _machines(path):
            _kill(holder)
    wait.until(lambda: not _alive(path), within=30, what=f"cluster {name}: end of its machines", every=0.02)
    _remove_control_groups(path)
    shutil.rmtree(path)


@dataclass(frozen=True, slots=True)
class Living:
    """A cluster that is up.

    Attributes:
        name: Of the run.
        machines: Names of its machines.
        prefix: Words before a command that give it the cluster's network.
        kubeconfig: Administrator's.
    """

    name: str
    machines: tuple[str, ...]
    prefix: str
    kubeconfig: Path


def living() -> list[Living]:
    """Return all clusters of this user that are up, also those of test runs."""
    found = []
    for path in map(folder, _names()):
        machines = _machines(path)
        if machines and _alive(path):
            names, prefix = (
                tuple(name for name, _, _ in machines),
                f"nsenter --net=/proc/{machines[0][2]}/ns/net --",
            )
            found.append(Living(path.name, names, prefix, path / machines[0][0] / "kubeconfig"))
    return found


def clear_abandoned() -> None:
    """Remove what runs that were killed have left; the kernel ended their machines with them."""
    with _changing():
        for name in list(_names()):
            if not _alive(folder(name)):
                say(f"clearing what an earlier run left: {name}")
                _end(name)


def _changing() -> AbstractContextManager[None]:
    """Let one process at a time add or remove run folders."""
    return cache.locked(cache.root() / "runs" / ".lock")


def _names() -> Iterator[str]:
    yield from (path.name for path in sorted((cache.root() / "runs").glob("*")) if path.is_dir())


def _machines(path: Path) -> list[tuple[str, int, int]]:
    try:
        return [
            (name, holder, first) for name, holder, first in json.loads((path / "machines.json").read_text())
        ]
    except FileNotFoundError:
        return []


def _alive(path: Path) -> bool:
    with (path / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _remove_control_groups(path: Path) -> None:
    """Remove the control groups of the containers that still ran; they outlive their processes."""
    state = "*/images/io.containerd.grpc.v1.cri/*/*"
    for container in [found.name for found in path.glob(state) if found.is_dir()]:
        for group in Path("/sys/fs/cgroup").glob(f"**/k8s.io/{container}"):
            wait.until(partial(_removed, group), within=10, what=f"end of {group}", every=0.02)


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return not group.exists()
    return True
