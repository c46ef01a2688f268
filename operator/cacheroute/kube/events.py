"""Kubernetes Events (events.k8s.io/v1) of RoutingPlans."""

import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kubernetes import client

from cacheroute.domain.decision import Notice
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.client import NOT_FOUND, REQUEST_TIMEOUT, patch_options, translated
from cacheroute.kube.event_ledger import Dropped, EventLedger, Repeat
from cacheroute.kube.names import API_VERSION, FIELD_MANAGER, GROUP, KIND
from cacheroute.kube.plan_parts import shortened

MAX_NOTE = 1024
_MAX_PREFIX = 200
_MERGE = "application/merge-patch+json"


class EventWriter:
    """Writes Events; blocks, so call it in a thread, one call at a time."""

    def __init__(self, api: client.ApiClient, clock: Callable[[], float]) -> None:
        self._events = client.EventsV1Api(api)
        self._clock = clock
        self._ledger = EventLedger()
        self._instance = os.environ.get("POD_NAME") or os.uname().nodename

    def write(self, ref: PlanRef, uid: str, notice: Notice) -> None:
        """Write a notice as a new Event, or count it to one that is there; a flood is cut.

        Raises:
            StoreError: it is not written.
        """
        now = self._clock()
        verdict = self._ledger.judge(ref, uid, notice, now)
        if isinstance(verdict, Dropped):
            return
        if isinstance(verdict, Repeat) and self._count_up(ref, verdict, now):
            self._ledger.record(uid, notice, verdict.event, now)
            return
        self._ledger.record(uid, notice, self._create(ref, uid, notice, now), now)

    def _create(self, ref: PlanRef, uid: str, notice: Notice, now: float) -> str:
        name = f"{shortened(ref.name, _MAX_PREFIX)}.{uuid.uuid4().hex[:16]}"
        regarding = client.V1ObjectReference(
            api_version=API_VERSION, kind=KIND, namespace=ref.namespace, name=ref.name, uid=uid
        )
        event = client.EventsV1Event(
            metadata=client.V1ObjectMeta(name=name, namespace=ref.namespace),
            event_time=_time(now),
            reporting_controller=f"{GROUP}/operator",
            reporting_instance=self._instance[:128],
            action="Plan",
            reason=notice.reason,
            regarding=regarding,
            note=note(notice.message),
            type="Warning" if notice.warning else "Normal",
        )
        with translated(f"writing an Event of {KIND} {ref}"):
            self._events.create_namespaced_event(
                ref.namespace, event, field_manager=FIELD_MANAGER, _request_timeout=REQUEST_TIMEOUT
            )
        return name

    def _count_up(self, ref: PlanRef, repeat: Repeat, now: float) -> bool:
        """Count a repeat; False where the Event is no longer there."""
        body: dict[str, Any] = {"series": {"count": repeat.count, "lastObservedTime": _stamp(now)}}
        with translated(f"writing an Event of {KIND} {ref}"):
            try:
                self._events.patch_namespaced_event(
                    repeat.event, ref.namespace, body, **patch_options(_MERGE)
                )
            except client.ApiException as error:
                if error.status == NOT_FOUND:
                    return False
                raise
        return True


def note(message: str) -> str:
    """Return a message that the API server takes: one line of at most 1024 bytes."""
    line = " ".join(message.split())
    if len(line.encode()) <= MAX_NOTE:
        return line
    return line.encode()[: MAX_NOTE - len("…".encode())].decode(errors="ignore") + "…"


def _time(now: float) -> datetime:
    return datetime.fromtimestamp(now, UTC)


def _stamp(now: float) -> str:
    return _time(now).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
