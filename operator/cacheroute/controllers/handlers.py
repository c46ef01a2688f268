"""What kopf calls: watch events go to the loop's thread, nothing is decided here."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import kopf

from cacheroute.kube.names import GROUP, PLURAL, VERSION
from cacheroute.kube.world import KubeWorld

Taker = Callable[[str | None, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Feed:
    """Hands watch events over from kopf's thread to the thread that owns the world."""

    loop: asyncio.AbstractEventLoop
    world: KubeWorld

    def give(self, take: Taker, event: Mapping[str, Any]) -> None:
        """Let the world ``take`` an event; dropped once its loop is closed, at the end of the process."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(take, event["type"], event["object"])


def register(registry: kopf.OperatorRegistry, feed: Feed) -> None:
    """Register the handlers: on.event only, so kopf writes nothing to any object."""

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    async def plan_changed(event: Any, **_: Any) -> None:
        feed.give(feed.world.plan_event, event)

    @kopf.on.event("", "v1", "pods", registry=registry)
    async def pod_changed(event: Any, **_: Any) -> None:
        feed.give(feed.world.pod_event, event)

    @kopf.on.event("", "v1", "nodes", registry=registry)
    async def node_changed(event: Any, **_: Any) -> None:
        feed.give(feed.world.node_event, event)
