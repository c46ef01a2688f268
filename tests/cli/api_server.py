"""As much of a Kubernetes API server as the kubectl plugin asks for, over real HTTP."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.names import API_VERSION, KIND, PLURAL
from cacheroute.kube.plan_parts import Put, config_map_name, saving
from tests.kube.objects import routing_plan

NAMESPACE = "inference"
RESOURCES = {"resources": [{"name": PLURAL, "kind": KIND, "namespaced": True}]}


@dataclass(slots=True)
class Cluster:
    """What the server knows.

    Attributes:
        objects: by path.
        refused: paths that the user may not patch.
        before_patch: runs before a patch is applied: somebody else is faster.
    """

    objects: dict[str, Any] = field(default_factory=lambda: {f"/apis/{API_VERSION}": RESOURCES})
    refused: set[str] = field(default_factory=set)
    before_patch: Callable[[], None] = lambda: None

    def add(self, name: str, plan: Plan | None = None, mode: str | None = "Active") -> dict[str, Any]:
        body = routing_plan({"spec": {"mode": mode}}, name=name)
        self.objects[path(name)] = body
        for put in saving(plan, (), ()) if plan else ():
            assert isinstance(put, Put)
            self._store(PlanRef(NAMESPACE, name), put)
        return body

    def _store(self, ref: PlanRef, put: Put) -> None:
        content = base64.b64encode(put.content).decode()
        name = config_map_name(ref, put.number)
        self.objects[f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}"] = {
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": dict(put.annotations)},
            "binaryData": {"plan.json.gz": content},
        }

    def get(self, at: str) -> Any:
        if at in self.objects:
            return self.objects[at]
        if at == path(""):
            return {"items": [body for name, body in self.objects.items() if name.startswith(path("") + "/")]}
        return None

    def patch(self, at: str, steps: list[dict[str, Any]]) -> tuple[int, Any]:
        self.before_patch()
        if at in self.refused:
            return 403, _status("routingplans is forbidden: User cannot patch")
        _, part, name = steps[0]["path"].split("/")
        target = self.objects[at][part]
        for step in steps:
            if step["op"] == "test" and target.get(name) != step["value"]:
                return 422, _status("the server rejected our request: testing value failed")
            if step["op"] == "add":
                target[name] = step["value"]
        return 200, self.objects[at]


def path(name: str) -> str:
    return f"/apis/{API_VERSION}/namespaces/{NAMESPACE}/{PLURAL}" + (f"/{name}" if name else "")


def _status(message: str) -> dict[str, Any]:
    return {"kind": "Status", "message": message}


@contextmanager
def serving(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """Serve the cluster; gives a kubeconfig for it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cluster))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield _kubeconfig(folder, server.server_port)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _kubeconfig(folder: Path, port: int) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [
            {"name": "test", "context": {"cluster": "test", "user": "test", "namespace": NAMESPACE}}
        ],
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "test", "user": {}}],
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = cluster.get(self.path.partition("?")[0].rstrip("/"))
            self._answer(*((200, found) if found is not None else (404, _status("not found"))))

        def do_PATCH(self) -> None:
            assert self.headers["Content-Type"] == "application/json-patch+json"
            steps = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(*cluster.patch(self.path, steps))

        def _answer(self, code: int, body: Any) -> None:
            content = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
