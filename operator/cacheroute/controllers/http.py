"""The operator's own HTTP endpoints: liveness, readiness, metrics, and the plans for people and tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import to_document
from cacheroute.domain.spec import PlanRef


@dataclass(frozen=True, slots=True)
class Views:
    """What the endpoints show.

    Attributes:
        alive: whether the loop still turns.
        ready: whether a complete snapshot is served.
        metrics: Prometheus text exposition.
        statuses: status documents by plan.
        plan: the plan in force, None where there is none.
    """

    alive: Callable[[], bool]
    ready: Callable[[], bool]
    metrics: Callable[[], bytes]
    statuses: Callable[[], Mapping[PlanRef, Mapping[str, Any]]]
    plan: Callable[[PlanRef], Plan | None]


def application(views: Views) -> web.Application:
    """Return the application with every route."""
    app = web.Application()
    app.router.add_get("/healthz", lambda _: _probe(views.alive(), "the loop has stopped"))
    app.router.add_get("/readyz", lambda _: _probe(views.ready(), "no complete snapshot is served yet"))
    app.router.add_get("/metrics", lambda _: _metrics(views))
    app.router.add_get("/status", lambda _: _status(views))
    app.router.add_get("/plans", lambda request: _plans(views, request))
    app.router.add_get("/plans/{namespace}/{name}", lambda request: _plan(views, request))
    return app


async def serve(app: web.Application, host: str, port: int) -> tuple[web.AppRunner, int]:
    """Serve ``app`` and return its runner and the port that was bound.

    Raises:
        OSError: the address cannot be bound.
    """
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    return runner, int(runner.addresses[0][1])


async def _probe(good: bool, complaint: str) -> web.Response:  # noqa: FBT001 - a probe has one answer
    return web.Response(text="ok\n" if good else f"{complaint}\n", status=200 if good else 503)


async def _metrics(views: Views) -> web.Response:
    return web.Response(
        body=views.metrics(), headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"}
    )


async def _status(views: Views) -> web.Response:
    plans = [
        {"namespace": ref.namespace, "name": ref.name, "status": status}
        for ref, status in sorted(views.statuses().items())
    ]
    return web.json_response({"plans": plans})


async def _plans(views: Views, request: web.Request) -> web.Response:
    """List where each plan in force is."""
    refs = [ref for ref in sorted(views.statuses()) if views.plan(ref) is not None]
    return web.json_response({"plans": [f"{request.path}/{ref.namespace}/{ref.name}" for ref in refs]})


async def _plan(views: Views, request: web.Request) -> web.Response:
    ref = PlanRef(request.match_info["namespace"], request.match_info["name"])
    plan = views.plan(ref)
    if plan is None:
        return web.json_response({"error": f"RoutingPlan {ref} has no plan in force"}, status=404)
    return web.json_response(to_document(plan))
