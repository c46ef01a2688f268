"""A machine without a machine: namespaces of the kernel for network, mounts and processes, held by one process.

Whatever runs on a machine ends when its first process ends, and its mounts and its network go with it: the
kernel cleans up, also when the run that made it is killed. Nothing of it has a name outside (no entry in
/run/netns, no interface on the real network), so any number of clusters live side by side.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.harness import wait
from e2e.harness.errors import HarnessError, ServiceEndedError
from e2e.harness.process import run

PRIVATE = ("/run", "/var/lib")
"""Where Kubernetes and containerd keep state under fixed names: every machine has its own, in memory."""

_CLONE_NEWNET = 0x40000000


class Machine:
    """One running machine.

    Attributes:
        name: For messages and logs.
        folder: Its files: logs, configuration, state.
        holder: Process id of the parent of the machine's first process; ending it ends the machine.
        first: Process id of the machine's first process, as seen from outside.
    """

    def __init__(self, name: str, folder: Path, holder: int, first: int) -> None:
        self.name = name
        self.folder = folder
        self.holder = holder
        self.first = first
        self._services: dict[str, subprocess.Popen[bytes]] = {}

    @classmethod
    def boot(cls, name: str, folder: Path, init: Path, *, lock: int, outlives_us: bool) -> "Machine":
        """Make the namespaces and the first process.

        Args:
            name: For messages.
            folder: Made; the log of each service comes to lie there.
            init: Static program that waits and collects orphans.
            lock: File descriptor the first process keeps open, so that its lock tells whether anything lives.
            outlives_us: When false, the kernel ends the machine when this thread's process dies.

        Raises:
            HarnessError: The first process did not appear.
        """
        folder.mkdir(parents=True)
        tied = [] if outlives_us else ["setpriv", "--pdeathsig", "KILL"]
        spaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
        with (folder / "init.log").open("wb") as log:
            holder = subprocess.Popen(
                [*tied, *spaces, init], stdout=log, stderr=log, pass_fds=[lock], start_new_session=True
            )
        try:
            return cls._furnished(name, folder, init, holder.pid)
        except BaseException:
            holder.kill()
            raise

    @classmethod
    def _furnished(cls, name: str, folder: Path, init: Path, holder: int) -> "Machine":
        wait.until(lambda: _runs(holder, init), within=10, what=f"{name}: first process", every=0.01)
        machine = cls(name, folder, holder, _children(holder)[0])
        for state in PRIVATE:
            machine.run(["mount", "-t", "tmpfs", "tmpfs", state])
        machine.run(["ip", "link", "set", "lo", "up"])
        machine.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
        return machine

    @property
    def network(self) -> Path:
        """The machine's network namespace, as a file."""
        return Path(f"/proc/{self.first}/ns/net")

    @property
    def prefix(self) -> list[str]:
        """Words before a command that run it on this machine."""
        return ["nsenter", f"--target={self.first}", "--mount", "--net", "--pid", "--"]

    def run(self, command: Sequence[str | Path]) -> str:
        """Run a short command on the machine and return its output."""
        return run([*self.prefix, *command])

    def start(
        self, service: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None
    ) -> None:
        """Start a service; its output goes to SERVICE.log in the machine's folder."""
        with (self.folder / f"{service}.log").open("ab") as log:
            self._services[service] = subprocess.Popen(
                [*self.prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )

    def stop(self, service: str) -> None:
        """End one service at once, as a crash would."""
        entering = self._services.pop(service)
        for process in _children(entering.pid):
            os.kill(process, signal.SIGKILL)
        entering.wait()

    def terminate(self, service: str) -> None:
        """Ask one service to end in order, and wait for it."""
        entering = self._services.pop(service)
        for process in _children(entering.pid):
            os.kill(process, signal.SIGTERM)
        entering.wait()

    def end(self) -> None:
        """End the machine and all that runs on it."""
        os.kill(self.holder, signal.SIGKILL)

    def check(self, service: str) -> None:
        """Raise if a service has ended.

        Raises:
            ServiceEndedError: It has; the message carries the end of its log.
        """
        if self._services[service].poll() is not None:
            log = self.folder / f"{service}.log"
            last = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise ServiceEndedError(f"{service} on {self.name} ended; {log}:\n{last}")


@contextmanager
def entered(network: Path) -> Iterator[None]:
    """Move this thread, and what it starts, into a network namespace for the time of the `with` block."""
    with Path("/proc/thread-self/ns/net").open("rb") as before, network.open("rb") as inside:
        _set_network(inside.fileno())
        try:
            yield
        finally:
            _set_network(before.fileno())


def _set_network(descriptor: int) -> None:
    # os.setns came with Python 3.12.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
        raise HarnessError(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")


def _children(process: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _runs(holder: int, program: Path) -> bool:
    children = _children(holder)
    try:
        return bool(children) and Path(f"/proc/{children[0]}/exe").samefile(program)
    except OSError:
        return False
