"""What the tests need of a cluster, whoever provides it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from e2e.harness.oci import Image


class ClusterProvider(Protocol):
    """One cluster of nodes that look like GPU nodes."""

    @property
    def kubeconfig(self) -> Path:
        """Administrator's kubeconfig; its addresses are right inside `network`."""

    @property
    def network(self) -> Path:
        """Network namespace, as a file, from which API server, pods and Services are reached."""

    @property
    def command_prefix(self) -> list[str]:
        """Words before a command that run it inside `network`."""

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes that run pods."""

    def require(self) -> None:
        """Raise `CannotRunError` where this machine lacks something, after installing what can be installed."""

    def create(self, nodes: int) -> None:
        """Make the cluster; every node is Ready and DNS answers when this returns."""

    def load_images(self, images: Sequence[Image]) -> None:
        """Put images on every node; pods use them with `imagePullPolicy: Never`."""

    def cut_node(self, node: str) -> None:
        """Let every packet from and to a node vanish, without a reset."""

    def heal_node(self, node: str) -> None:
        """Undo `cut_node`."""

    def stop_api_server(self) -> None:
        """End the API server at once."""

    def start_api_server(self) -> None:
        """Start the API server again and wait until it is ready."""

    def kill_container(self, namespace: str, pod: str) -> None:
        """Send SIGKILL to every container of a pod, as the kernel does when memory is short."""

    def delete(self) -> None:
        """Take everything down; nothing is left."""
