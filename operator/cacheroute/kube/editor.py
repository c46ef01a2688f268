"""Changes of RoutingPlans that a user asks for, with the user's own rights."""

import json
from typing import Any

import pykube
import requests

from cacheroute.domain.spec import Mode, PlanRef
from cacheroute.kube.errors import ClusterWriteError
from cacheroute.kube.names import API_VERSION, KIND
from cacheroute.kube.reader import Access, connected, translated

_CHANGED_MEANWHILE = (requests.codes.conflict, requests.codes.unprocessable_entity)
"""Answers to a JSON patch whose test fails."""


class ClusterEditor:
    """Changes RoutingPlans of one namespace."""

    def __init__(self, access: Access) -> None:
        """Read the kubeconfig.

        Raises:
            ClusterReadError: it cannot be used.
        """
        self._api, self._namespace = connected(access)

    def ref(self, name: str) -> PlanRef:
        """Return the full name of a RoutingPlan in the chosen namespace."""
        return PlanRef(self._namespace, name)

    def switch_mode(self, name: str, before: Mode, after: Mode) -> bool:
        """Set spec.mode from ``before`` to ``after``; tells whether it was not so already.

        Raises:
            ClusterReadError: the RoutingPlan cannot be read.
            ClusterWriteError: it is in a third mode, or cannot be written.
        """
        found = self._found(name)
        mode = found.obj["spec"].get("mode", Mode.ACTIVE.value)
        if mode == after:
            return False
        if mode != before:
            raise ClusterWriteError(
                f"{KIND} {self.ref(name)}: spec.mode is {mode}, not {before}; "
                f"set it to {after} yourself if that is what you mean"
            )
        self._patch(found, _replaced(found.obj["spec"], after))
        return True

    def _found(self, name: str) -> Any:
        with translated(f"{KIND} {self.ref(name)}"):
            kind = pykube.object_factory(self._api, API_VERSION, KIND)
            return kind.objects(self._api, namespace=self._namespace).get_by_name(name)

    def _patch(self, found: Any, patch: list[dict[str, Any]]) -> None:
        headers = {"Content-Type": "application/json-patch+json"}
        what = f"{KIND} {self.ref(found.name)}"
        try:
            answer = self._api.patch(**found.api_kwargs(headers=headers, data=json.dumps(patch)))
            self._api.raise_for_status(answer)
        except pykube.exceptions.HTTPError as error:
            if error.code in _CHANGED_MEANWHILE:
                raise ClusterWriteError(f"{what}: was changed meanwhile ({error}); try again") from error
            raise ClusterWriteError(f"{what}: the API server answered {error.code}: {error}") from error
        except requests.RequestException as error:
            raise ClusterWriteError(f"{what}: the API server cannot be reached: {error}") from error


def _replaced(spec: dict[str, Any], mode: Mode) -> list[dict[str, Any]]:
    """Return a JSON patch that fails where somebody else has changed the mode since."""
    path = "/spec/mode"
    test = [{"op": "test", "path": path, "value": spec["mode"]}] if "mode" in spec else []
    return [*test, {"op": "add", "path": path, "value": mode.value}]
