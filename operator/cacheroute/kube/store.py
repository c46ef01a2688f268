"""Plans in ConfigMaps."""

import asyncio
import base64
import binascii
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kubernetes import client

from cacheroute.domain.errors import PlanFormatError, StoreError
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.client import NOT_FOUND, REQUEST_TIMEOUT, translated
from cacheroute.kube.names import ANNOTATION_OWNER, API_VERSION, FIELD_MANAGER, KIND, LABEL_PLAN
from cacheroute.kube.plan_parts import (
    CONTENT,
    HEAD,
    MAX_NUMBER,
    Delete,
    Put,
    config_map_name,
    joined,
    label_value,
    part_numbers,
    saving,
)

_ATTEMPTS = 3


class KubePlanStore:
    """Keeps plans in ConfigMaps beside their RoutingPlans, which own them."""

    def __init__(self, api: client.ApiClient, uid: Callable[[PlanRef], str | None]) -> None:
        """Take how the identity of a RoutingPlan is found; None means that it is gone."""
        self._core = client.CoreV1Api(api)
        self._uid = uid
        self._saving: dict[PlanRef, threading.Lock] = defaultdict(threading.Lock)

    async def load(self, ref: PlanRef) -> Plan | None:
        """Return the stored plan, None where there is none or it belonged to a former object of that name.

        Raises:
            StoreError: the API server does not answer.
            PlanFormatError: what is stored is no plan.
        """
        return await asyncio.to_thread(self._load, ref, self._identity(ref))

    async def save(self, ref: PlanRef, plan: Plan) -> None:
        """Store the plan; until the last moment the former one can be read.

        Raises:
            StoreError: it is not stored.
        """
        await asyncio.to_thread(self._save, ref, self._identity(ref), plan)

    def _identity(self, ref: PlanRef) -> str:
        uid = self._uid(ref)
        if uid is None:
            raise StoreError(f"{KIND} {ref} is gone, so its plan has no place")
        return uid

    def _load(self, ref: PlanRef, uid: str) -> Plan | None:
        """Read head and parts; a save in between may take parts away, then the head is another one."""
        for _ in range(_ATTEMPTS):
            head = self._get(ref, HEAD)
            if head is None or not _is_owned(head, uid):
                return None
            annotations = _metadata(head).annotations or {}
            with _naming(ref):
                parts = [head, *(self._get(ref, number) for number in part_numbers(annotations)[1:])]
                found = [_content(part) for part in parts if part is not None]
                if len(found) == len(parts):
                    return joined(annotations, found)
        with _naming(ref):
            raise PlanFormatError("a part of the plan is missing")

    def _save(self, ref: PlanRef, uid: str, plan: Plan) -> None:
        """Write step by step; a save that its caller gave up goes on until it ends, and the next one waits."""
        with self._saving[ref]:
            present = self._present(ref)
            for step in saving(plan, _former(present.get(HEAD), uid), present):
                if isinstance(step, Delete):
                    self._delete(ref, step.number)
                else:
                    self._put(ref, _config_map(ref, uid, step), exists=step.number in present)

    def _present(self, ref: PlanRef) -> dict[int, client.V1ConfigMap]:
        """Return the ConfigMaps of a stored plan by number, also those that are in no plan."""
        what = f"listing the ConfigMaps of {KIND} {ref}"
        with translated(what):
            listed = self._core.list_namespaced_config_map(
                ref.namespace,
                label_selector=f"{LABEL_PLAN}={label_value(ref)}",
                _request_timeout=REQUEST_TIMEOUT,
            )
        names = {config_map_name(ref, number): number for number in range(MAX_NUMBER)}
        named = ((names.get(_metadata(one).name or ""), one) for one in listed.items)
        return {number: one for number, one in named if number is not None}

    def _get(self, ref: PlanRef, number: int) -> client.V1ConfigMap | None:
        name = config_map_name(ref, number)
        with translated(f"reading ConfigMap {ref.namespace}/{name}"):
            try:
                return self._core.read_namespaced_config_map(
                    name, ref.namespace, _request_timeout=REQUEST_TIMEOUT
                )
            except client.ApiException as error:
                if error.status == NOT_FOUND:
                    return None
                raise

    def _put(self, ref: PlanRef, body: client.V1ConfigMap, *, exists: bool) -> None:
        name = _metadata(body).name or ""
        options: dict[str, Any] = {"field_manager": FIELD_MANAGER, "_request_timeout": REQUEST_TIMEOUT}
        with translated(f"writing ConfigMap {ref.namespace}/{name}"):
            if exists:
                self._core.replace_namespaced_config_map(name, ref.namespace, body, **options)
            else:
                self._core.create_namespaced_config_map(ref.namespace, body, **options)

    def _delete(self, ref: PlanRef, number: int) -> None:
        name = config_map_name(ref, number)
        with translated(f"deleting ConfigMap {ref.namespace}/{name}"):
            try:
                self._core.delete_namespaced_config_map(name, ref.namespace, _request_timeout=REQUEST_TIMEOUT)
            except client.ApiException as error:
                if error.status != NOT_FOUND:
                    raise


@contextmanager
def _naming(ref: PlanRef) -> Iterator[None]:
    """Put the object in front of what is wrong with it."""
    try:
        yield
    except PlanFormatError as error:
        raise PlanFormatError(f"ConfigMap {ref.namespace}/{config_map_name(ref, HEAD)}: {error}") from error


def _is_owned(config_map: client.V1ConfigMap, uid: str) -> bool:
    return any(owner.uid == uid for owner in _metadata(config_map).owner_references or ())


def _metadata(config_map: client.V1ConfigMap) -> client.V1ObjectMeta:
    return config_map.metadata or client.V1ObjectMeta()


def _former(head: client.V1ConfigMap | None, uid: str) -> Sequence[int]:
    """Return the numbers of the plan in force; none where there is none that anybody could read."""
    if head is None or not _is_owned(head, uid):
        return ()
    try:
        return part_numbers(_metadata(head).annotations or {})
    except PlanFormatError:
        return ()


def _content(config_map: client.V1ConfigMap) -> bytes:
    try:
        return base64.b64decode((config_map.binary_data or {})[CONTENT], validate=True)
    except (KeyError, binascii.Error) as error:
        raise PlanFormatError(f"binaryData has no readable {CONTENT}") from error


def _config_map(ref: PlanRef, uid: str, step: Put) -> client.V1ConfigMap:
    owner = client.V1OwnerReference(api_version=API_VERSION, kind=KIND, name=ref.name, uid=uid)
    return client.V1ConfigMap(
        metadata=client.V1ObjectMeta(
            name=config_map_name(ref, step.number),
            namespace=ref.namespace,
            labels={
                "app.kubernetes.io/name": "cacheroute",
                "app.kubernetes.io/component": "plan",
                "app.kubernetes.io/managed-by": "cacheroute",
                LABEL_PLAN: label_value(ref),
            },
            annotations={ANNOTATION_OWNER: ref.name, **step.annotations},
            owner_references=[owner],
        ),
        binary_data={CONTENT: base64.b64encode(step.content).decode("ascii")},
    )
