"""Where the simulations of a series run: processes of this machine, or a Dask or Ray cluster; joblib does the work."""

import contextlib
import importlib
import logging
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import joblib

from cacheroute.simulation.errors import SimulationError


class Backend(StrEnum):
    """Who runs the simulations."""

    LOKY = "loky"
    """Processes of this machine."""
    DASK = "dask"
    """A Dask cluster; workers need this package."""
    RAY = "ray"
    """A Ray cluster; workers need this package."""


@contextlib.contextmanager
def backend(kind: Backend, jobs: int, cluster: str | None = None) -> Iterator[None]:
    """Let ``joblib.Parallel`` run there.

    Args:
        kind: who runs.
        jobs: processes; -1 for one on each core.
        cluster: address of the scheduler; None starts a cluster of ``jobs`` processes on this machine.

    Raises:
        SimulationError: the cluster's package is not installed, or the cluster cannot be reached.
    """
    if kind is Backend.LOKY:
        with joblib.parallel_config(backend="loky", n_jobs=jobs):
            yield
        return
    with contextlib.ExitStack() as stack:
        workers = jobs if jobs > 0 else joblib.cpu_count()
        (_dask if kind is Backend.DASK else _ray)(stack, workers, cluster)
        with joblib.parallel_config(backend=kind.value, n_jobs=-1):
            yield


def _dask(stack: contextlib.ExitStack, workers: int, cluster: str | None) -> None:
    distributed = _package("distributed", "pip install 'cacheroute[simulation]'")
    try:
        if cluster is None:
            local = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                silence_logs=logging.ERROR,
                scheduler_kwargs={"dashboard": False},
            )
            cluster = stack.enter_context(local).scheduler_address
        stack.enter_context(distributed.Client(cluster, timeout="10s"))
    except (OSError, ValueError) as error:
        raise SimulationError(
            f"the Dask cluster {cluster or 'of this machine'} cannot be used: {error}"
        ) from error


def _ray(stack: contextlib.ExitStack, workers: int, cluster: str | None) -> None:
    ray = _package("ray", "pip install ray")
    register = _package("ray.util.joblib", "pip install ray").register_ray
    try:
        ray.init(address=cluster, num_cpus=None if cluster else workers, include_dashboard=False)
    except (OSError, ValueError) as error:
        raise SimulationError(
            f"the Ray cluster {cluster or 'of this machine'} cannot be used: {error}"
        ) from error
    stack.callback(ray.shutdown)
    register()


def _package(name: str, remedy: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SimulationError(f"package {name.partition('.')[0]} is not installed: {remedy}") from None
