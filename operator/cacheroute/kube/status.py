"""The one writer of RoutingPlan status: server-side apply, and no write where nothing changed."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes import client

from cacheroute.domain.decision import Notice
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.status import PlanStatus
from cacheroute.kube.client import NOT_FOUND, REQUEST_TIMEOUT, patch_options, translated
from cacheroute.kube.events import EventWriter
from cacheroute.kube.names import API_VERSION, FIELD_MANAGER, GROUP, KIND, PLURAL, VERSION
from cacheroute.kube.status_document import notable, status_document

MIN_SECONDS = 10.0
"""Time between two writes of one status where only numbers drifted."""
_APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Written:
    """The status that is in place, for one object, and when it was written (seconds since the epoch)."""

    uid: str
    document: Mapping[str, Any]
    time: float


def worth_writing(document: Mapping[str, Any], written: Written, now: float) -> bool:
    """Tell whether ``document`` should replace what is in place."""
    if document == written.document:
        return False
    return notable(document) != notable(written.document) or now - written.time >= MIN_SECONDS


class KubeReporter:
    """Writes status and Events of RoutingPlans."""

    def __init__(
        self,
        api: client.ApiClient,
        uid: Callable[[PlanRef], str | None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take how the identity of a RoutingPlan is found; None means that it is gone."""
        self._custom = client.CustomObjectsApi(api)
        self._events = EventWriter(api, clock)
        self._uid, self._clock = uid, clock
        self._written: dict[PlanRef, Written] = {}

    @property
    def documents(self) -> Mapping[PlanRef, Mapping[str, Any]]:
        """The status documents that are in place, as far as they were written or read here."""
        return {ref: written.document for ref, written in self._written.items()}

    async def write(self, ref: PlanRef, status: PlanStatus) -> None:
        """Write the status where it changed; a RoutingPlan that is gone needs none.

        Raises:
            StoreError: it is not written.
        """
        uid = self._uid(ref)
        if uid is None:
            self._written.pop(ref, None)
            return
        written = await self._in_place(ref, uid)
        document = status_document(status, written.document, self._clock())
        if worth_writing(document, written, self._clock()):
            await asyncio.to_thread(self._apply, ref, uid, document)
            self._written[ref] = Written(uid, document, self._clock())

    async def notify(self, ref: PlanRef, notice: Notice) -> None:
        """Write an Event, or count it to one that is there.

        Raises:
            StoreError: it is not written.
        """
        uid = self._uid(ref)
        if uid is not None:
            await asyncio.to_thread(self._events.write, ref, uid, notice)

    async def _in_place(self, ref: PlanRef, uid: str) -> Written:
        """Return the status that is in place: what was written last, else what the API server has."""
        written = self._written.get(ref)
        if written is None or written.uid != uid:
            written = Written(uid, await asyncio.to_thread(self._read, ref), 0.0)
            self._written[ref] = written
        return written

    def _read(self, ref: PlanRef) -> Mapping[str, Any]:
        with translated(f"reading the status of {KIND} {ref}"):
            try:
                body: Any = self._custom.get_namespaced_custom_object(
                    GROUP, VERSION, ref.namespace, PLURAL, ref.name, _request_timeout=REQUEST_TIMEOUT
                )
            except client.ApiException as error:
                if error.status == NOT_FOUND:
                    return {}
                raise
        return body.get("status") or {}

    def _apply(self, ref: PlanRef, uid: str, document: Mapping[str, Any]) -> None:
        """Apply; with the uid, so that a new object of the same name never gets the old one's status."""
        body = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": ref.name, "namespace": ref.namespace, "uid": uid},
            "status": document,
        }
        with translated(f"writing the status of {KIND} {ref}"):
            try:
                self._custom.patch_namespaced_custom_object_status(
                    GROUP,
                    VERSION,
                    ref.namespace,
                    PLURAL,
                    ref.name,
                    body,
                    field_manager=FIELD_MANAGER,
                    force=True,
                    **patch_options(_APPLY),
                )
            except client.ApiException as error:
                if error.status != NOT_FOUND:
                    raise
