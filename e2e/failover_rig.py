"""Destinations that can fail in every way: killed, frozen, sick, and behind a link that swallows what is sent."""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.gateway_rig import DEADLINE, Backend, Rig, gateway
from e2e.harness.process import run

_NETWORK = "240.0"
"""Of class E, so nobody's real network; the clusters of the harness have 198.18.0.0/15."""
_HARDWARE = "02:00:00:00:00:02"


@dataclass(frozen=True, slots=True)
class FarNode:
    """A network namespace behind a virtual cable; it ends with its holder, and the cable with it.

    Attributes:
        holder: process id of the one that holds it.
        near: our address.
        address: of the node.
        device: our end of the cable.
    """

    holder: int
    near: str
    address: str
    device: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words before a command that run it there."""
        return ("nsenter", f"--target={self.holder}", "--net", "--")

    def vanish(self) -> None:
        """Swallow everything from now on: no reset, no ICMP, and our own link stays up."""
        run([*self.prefix, "ip", "address", "flush", "dev", "far"])

    def pull_the_cable(self) -> None:
        """Take the link down at the node's end."""
        run([*self.prefix, "ip", "link", "set", "far", "down"])

    def come_back(self) -> None:
        """Undo both."""
        run([*self.prefix, "ip", "link", "set", "far", "up"])
        run([*self.prefix, "ip", "address", "replace", f"{self.address}/30", "dev", "far"])


@contextlib.contextmanager
def far_node() -> Iterator[FarNode]:
    """Make a node; needs root."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--", "sleep", "infinity"]
    with subprocess.Popen(command) as process:
        node = _described(process.pid)
        try:
            _wire(node)
            yield node
        finally:
            run(["ip", "link", "delete", node.device])
            process.kill()


def _described(holder: int) -> FarNode:
    number = os.getpid() % 16_000
    third, fourth = divmod(number * 4, 256)
    return FarNode(
        holder, f"{_NETWORK}.{third}.{fourth + 1}", f"{_NETWORK}.{third}.{fourth + 2}", f"cr{number}"
    )


def _wire(node: FarNode) -> None:
    """Connect it with our namespace; its hardware address is known for good, as behind a router that is up."""
    _wait_for_namespace(node.holder)
    peer = ["peer", "name", "far", "address", _HARDWARE, "netns", str(node.holder)]
    run(["ip", "link", "add", node.device, "type", "veth", *peer])
    run(["ip", "address", "add", f"{node.near}/30", "dev", node.device])
    run(["ip", "link", "set", node.device, "up"])
    node.come_back()
    known = ["lladdr", _HARDWARE, "dev", node.device, "nud", "permanent"]
    run(["ip", "neighbour", "replace", node.address, *known])


def _wait_for_namespace(holder: int) -> None:
    ours = Path("/proc/self/ns/net").stat().st_ino
    while Path(f"/proc/{holder}/ns/net").stat().st_ino == ours:
        pass


async def start_destination(rig: Rig, name: str, node: FarNode | None = None) -> Backend:
    """Start one destination, here or on a node."""
    host = node.address if node else "127.0.0.1"
    script = str(Path(__file__).with_name("failover_backend.py"))
    command = [*(node.prefix if node else ()), sys.executable, script, host]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), DEADLINE)
    rig.backends.append(Backend(name, process, int(line), host))
    return rig.backends[-1]


async def start_engine(rig: Rig, name: str, *flags: str) -> Backend:
    """Start one simulated vLLM server."""
    words = ("-m", "cacheroute.cli.main", "engine", "--host", "127.0.0.1", "--port", "0", *flags)
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), DEADLINE)).decode()
    found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
    assert found, f"no address in {line!r}"
    rig.backends.append(Backend(name, process, int(found[1])))
    return rig.backends[-1]


@contextlib.asynccontextmanager
async def destinations(number: int, node: FarNode | None = None) -> AsyncIterator[Rig]:
    """Run a gateway with so many destinations; with a node the first one stands there."""
    async with gateway(0) as rig:
        for index in range(number):
            await start_destination(rig, f"pod-{index}", node if index == 0 else None)
        yield rig
