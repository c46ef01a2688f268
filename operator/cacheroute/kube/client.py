"""The official client: how it is configured, and its errors as one line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from cacheroute.domain.errors import StoreError

REQUEST_TIMEOUT = (5.0, 30.0)
"""Seconds to connect and to read; every request has them, so that nothing waits for ever."""
NOT_FOUND = 404


def patch_options(content_type: str) -> dict[str, Any]:
    """Return the options of a patch; its kind is an argument that the client's type stubs do not know."""
    return {"_content_type": content_type, "_request_timeout": REQUEST_TIMEOUT}


def api_client() -> client.ApiClient:
    """Return a client for the cluster that the process runs in, else for the current kubeconfig context.

    Raises:
        StoreError: there is neither.
    """
    try:
        config.load_incluster_config()
    except config.ConfigException:
        _load_kubeconfig()
    return client.ApiClient()


def _load_kubeconfig() -> None:
    try:
        config.load_kube_config()
    except (config.ConfigException, OSError) as error:
        reason = f"not in a pod, and no kubeconfig can be used: {_line(error)}"
        raise StoreError(f"no cluster: {reason}; set KUBECONFIG") from error


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn whatever the client raises into a StoreError that says ``what`` failed and why."""
    try:
        yield
    except client.ApiException as error:
        raise StoreError(f"{what}: the API server answered {error.status}: {_reason(error)}") from error
    except (HTTPError, OSError) as error:
        raise StoreError(f"{what}: the API server cannot be reached: {_line(error)}") from error


def _reason(error: client.ApiException) -> str:
    try:
        message = json.loads(error.body or "")["message"]
    except (ValueError, KeyError, TypeError):
        message = error.reason
    return _line(message)


def _line(text: object) -> str:
    return " ".join(str(text).split())[:500]
