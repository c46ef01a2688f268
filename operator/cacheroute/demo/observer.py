"""Asks standalone mode, the engines and the gateway how they are."""

from types import TracebackType
from typing import Any, Self

import aiohttp

from cacheroute.demo import files
from cacheroute.demo.load import TENANT_HEADER
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document

TIMEOUT_SECONDS = 5.0
OK = 200


class Observer:
    """An HTTP client for the run's own processes; an async context manager.

    Args:
        operator: base URL of standalone mode.
        gateway: base URL of the gateway.
    """

    def __init__(self, operator: str, gateway: str) -> None:
        self._operator, self._gateway = operator, gateway
        self._document: dict[str, Any] = {}
        self._plan: Plan | None = None
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def answers(self, url: str) -> bool:
        """Whether a GET is answered with 200."""
        try:
            async with self._http.get(url) as answer:
                return answer.status == OK
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def status(self) -> dict[str, Any]:
        """Return the status of the RoutingPlan, empty before the first or while nobody answers."""
        document = await self._get("/status")
        plans = document.get("plans") or []
        return dict(plans[0]["status"]) if plans else {}

    async def plan(self) -> Plan | None:
        """Return the plan in force, None before the first or while nobody answers; the same object while it is the same."""
        document = await self._get(f"/plans/{files.NAMESPACE}/{files.NAME}")
        if document != self._document:
            self._document = document
            self._plan = None if "format" not in document else from_document(document)
        return self._plan

    async def decision(self, key: str) -> str:
        """Return how the gateway routes a key now: it is asked with a request of one token."""
        body = {"model": files.MODEL, "messages": [{"role": "user", "content": "?"}], "max_tokens": 1}
        url = f"{self._gateway}/v1/chat/completions"
        try:
            async with self._http.post(url, json=body, headers={TENANT_HEADER: key}) as answer:
                return answer.headers.get("x-cacheroute-decision", "")
        except (aiohttp.ClientError, TimeoutError):
            return ""

    async def _get(self, path: str) -> dict[str, Any]:
        try:
            async with self._http.get(self._operator + path) as answer:
                return dict(await answer.json())
        except (aiohttp.ClientError, TimeoutError):
            return {}


def condition(status: dict[str, Any], kind: str) -> str:
    """Return the reason of a condition, empty where the status lacks it."""
    return next((str(one["reason"]) for one in status.get("conditions", ()) if one["type"] == kind), "")
