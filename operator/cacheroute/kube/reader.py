"""Reads a cluster for a user: kubeconfig contexts, RoutingPlans and stored plans. Nothing is written here."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pykube
import requests
import yaml

from cacheroute.domain.errors import PlanFormatError
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.errors import ClusterReadError
from cacheroute.kube.names import API_VERSION, KIND
from cacheroute.kube.plan_parts import CONTENT, HEAD, config_map_name, joined, part_numbers

TIMEOUT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Access:
    """How a user names a cluster, as for kubectl.

    Attributes:
        kubeconfig: file; None means $KUBECONFIG, else ~/.kube/config.
        context: of the kubeconfig; None means its current one.
        namespace: to look at; None means the context's.
        all_namespaces: look at every namespace.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False


class ClusterReader:
    """Reads one cluster."""

    def __init__(self, access: Access) -> None:
        """Read the kubeconfig.

        Raises:
            ClusterReadError: it cannot be used.
        """
        self._api, self._namespace = connected(access)
        self._everywhere = access.all_namespaces

    def plans(self) -> list[Mapping[str, Any]]:
        """Return the RoutingPlans of the chosen namespaces, by namespace and name.

        Raises:
            ClusterReadError: they cannot be read.
        """
        namespace = pykube.all if self._everywhere else self._namespace
        with translated(f"RoutingPlans of {'all namespaces' if self._everywhere else self._namespace}"):
            found = [one.obj for one in self._kind().objects(self._api, namespace=namespace)]
        return sorted(found, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"]))

    def stored_plan(self, name: str) -> Plan:
        """Return the plan in force of a RoutingPlan.

        Raises:
            ClusterReadError: there is none, or it cannot be read.
        """
        ref = self.ref(name)
        head = self._config_map(ref, HEAD)
        annotations: Mapping[str, str] = head["metadata"].get("annotations") or {}
        try:
            rest = [self._config_map(ref, number) for number in part_numbers(annotations)[1:]]
            return joined(annotations, [_content(part) for part in (head, *rest)])
        except PlanFormatError as error:
            raise ClusterReadError(f"stored plan of {KIND} {ref}: {error}") from error

    def stored_plan_of(self, name: str | None) -> Plan:
        """Return the plan in force of a RoutingPlan; without a name, of the only one.

        Raises:
            ClusterReadError: there is none, it cannot be read, or there are several to choose from.
        """
        return self.stored_plan(name if name is not None else self._only())

    def ref(self, name: str) -> PlanRef:
        """Return the full name of a RoutingPlan in the chosen namespace."""
        return PlanRef(self._namespace, name)

    def _only(self) -> str:
        names = [str(one["metadata"]["name"]) for one in self.plans()]
        if len(names) != 1:
            known = f"RoutingPlans {', '.join(names)}: name one" if names else f"no {KIND}"
            raise ClusterReadError(f"namespace {self._namespace} has {known}")
        return names[0]

    def _kind(self) -> Any:
        return pykube.object_factory(self._api, API_VERSION, KIND)

    def _config_map(self, ref: PlanRef, number: int) -> Mapping[str, Any]:
        name = config_map_name(ref, number)
        with translated(f"ConfigMap {ref.namespace}/{name}, which holds the plan of {KIND} {ref}"):
            found: Mapping[str, Any] = (
                pykube.ConfigMap.objects(self._api, namespace=ref.namespace).get_by_name(name).obj
            )
        return found


def connected(access: Access) -> tuple[pykube.HTTPClient, str]:
    """Return a client and the namespace to look at.

    Raises:
        ClusterReadError: the kubeconfig cannot be used.
    """
    with translated("kubeconfig"):
        config = pykube.KubeConfig.from_file(access.kubeconfig)
        if access.context is not None:
            config.set_current_context(access.context)
        _check_context(config)
        return pykube.HTTPClient(config, timeout=TIMEOUT_SECONDS), access.namespace or config.namespace


def _check_context(config: Any) -> None:
    if config.current_context not in config.contexts:
        raise ClusterReadError(
            f"kubeconfig: there is no context {config.current_context!r}, only {', '.join(config.contexts)}"
        )


def _content(config_map: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(config_map["binaryData"][CONTENT], validate=True)
    except (KeyError, binascii.Error) as error:
        raise PlanFormatError(f"binaryData has no readable {CONTENT}") from error


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn whatever the client raises into a ClusterReadError that says ``what`` could not be had, and why."""
    try:
        yield
    except pykube.exceptions.ObjectDoesNotExist as error:
        raise ClusterReadError(f"{what}: there is none yet") from error
    except requests.HTTPError as error:
        raise ClusterReadError(f"{what}: the API server answered {_status(error)}") from error
    except requests.RequestException as error:
        raise ClusterReadError(f"{what}: the API server cannot be reached: {_line(error)}") from error
    except (pykube.exceptions.PyKubeError, OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ClusterReadError(f"{what}: {_line(error)}") from error


def _status(error: requests.HTTPError) -> str:
    response = error.response
    return f"{response.status_code} {response.reason}" if response is not None else _line(error)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
