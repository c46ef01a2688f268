"""What a test does with a cluster: kubectl, helm, objects as dictionaries."""

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import yaml

from e2e.harness import binaries, images, kind, local, machine
from e2e.harness.errors import HarnessError
from e2e.harness.process import run
from e2e.harness.provider import ClusterProvider


class Cluster:
    """A running cluster and its command-line clients.

    Attributes:
        provider: Whoever made it; the disturbances (cut a node, stop the API server) are its methods.
        image: Reference of the image with operator, engine and standalone.
    """

    def __init__(self, provider: ClusterProvider, image: str) -> None:
        self.provider = provider
        self.image = image

    def entered(self) -> AbstractContextManager[None]:
        """Move this thread, and what it starts, into the cluster's network: pod and Service addresses work."""
        return machine.entered(self.provider.network)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl as the administrator and return its output."""
        return self._run("kubectl", arguments, stdin)

    def helm(self, *arguments: str) -> str:
        """Run helm as the administrator and return its output."""
        return self._run("helm", arguments, None)

    def apply(self, *objects: dict[str, Any], namespace: str = "default") -> None:
        """Apply objects by server-side apply, also over what somebody else set (`kubectl scale`)."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.kubectl(
            "apply",
            "--server-side",
            "--force-conflicts",
            "--namespace",
            namespace,
            "--filename",
            "-",
            stdin=text,
        )

    def establish(self, definition: Path, namespace: str) -> None:
        """Make a CustomResourceDefinition known from its file, and a namespace to try it in."""
        custom: dict[str, Any] = yaml.safe_load(definition.read_text(encoding="utf-8"))
        self.apply(custom, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        name = custom["metadata"]["name"]
        self.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{name}")

    def get(self, kind_: str, name: str, namespace: str = "default") -> dict[str, Any]:
        """Return one object.

        Raises:
            HarnessError: There is none.
        """
        found: dict[str, Any] = json.loads(
            self.kubectl("get", kind_, name, "--namespace", namespace, "-o", "json")
        )
        return found

    def list(self, kind_: str, selector: str = "", namespace: str = "default") -> list[dict[str, Any]]:
        """Return the objects of a kind that match a label selector."""
        text = self.kubectl("get", kind_, "--selector", selector, "--namespace", namespace, "-o", "json")
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items

    def _run(self, program: str, arguments: tuple[str, ...], stdin: str | None) -> str:
        command: list[str | Path] = [*self.provider.command_prefix, binaries.program(program), *arguments]
        return run(command, env={"KUBECONFIG": str(self.provider.kubeconfig)}, stdin=stdin)


@contextmanager
def running(name: str, nodes: int) -> Iterator[Cluster]:
    """Make a cluster with our images on it for the time of the `with` block.

    `E2E_PROVIDER=kind` takes kind (needs Docker) instead of namespaces of this machine.
    """
    provider: ClusterProvider = _provider(name)
    provider.require()
    package = images.cacheroute()
    binaries.folder("helm")
    provider.create(nodes)
    try:
        provider.load_images([package])
        yield Cluster(provider, package.reference)
    finally:
        provider.delete()


def diagnosis(cluster: Cluster) -> str:
    """Return what somebody would look at first: pods, RoutingPlans, Events and the operator's log."""
    operator = ("-n", "cacheroute-system", "-l", "app.kubernetes.io/component=operator")
    questions = (
        ("get", "pods", "--all-namespaces", "-o", "wide"),
        ("get", "rplan", "--all-namespaces", "-o", "yaml"),
        ("get", "events", "--all-namespaces"),
        ("logs", *operator, "--tail=60"),
        ("logs", *operator, "--tail=30", "--previous"),
        ("logs", "-n", "cacheroute-system", "-l", "app.kubernetes.io/component=gateway", "--tail=20"),
        ("logs", "-n", "inference", "-l", "app=vllm", "--tail=10"),
    )
    return "\n".join(
        f"$ kubectl {' '.join(question)}\n{_answer(cluster, question)}" for question in questions
    )


def _answer(cluster: Cluster, question: tuple[str, ...]) -> str:
    try:
        return cluster.kubectl(*question)
    except HarnessError as error:
        return str(error)


def _provider(name: str) -> ClusterProvider:
    if os.environ.get("E2E_PROVIDER", "local") == "kind":
        return kind.KindCluster(name)
    return local.LocalCluster(name)
