"""The cluster of the end-to-end tests, and what happens where it cannot run."""

import os
from collections.abc import Generator, Iterator

import pytest

from e2e.harness.cluster import Cluster, diagnosis, running
from e2e.harness.errors import CannotRunError
from e2e.system.installation import Installation

TIMEOUT_SECONDS = 120
collect_ignore = ["real_vllm"]
"""Optional: named on the command line (`make e2e-vllm`) it is collected all the same."""
_CLUSTER = pytest.StashKey[Cluster]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests on the cluster last; let every time limit begin after the fixtures.

    From the first test on the cluster on this process is in the cluster's network, from where nothing can be fetched
    any more. Fixtures fetch Envoy and build Prometheus and Kubernetes where they are missing.
    """
    items.sort(key=lambda item: item.get_closest_marker("cluster") is not None)
    for item in items:
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS, func_only=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the cluster's pods and logs into the report of a test that failed on it."""
    report = yield
    made = getattr(item, "funcargs", {}).get("cluster") or item.session.stash.get(_CLUSTER, None)
    if report.failed and call.when != "teardown" and isinstance(made, Cluster):
        report.sections.append(("cluster", diagnosis(made)))
    return report


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One cluster for the session; this process is in its network, so pod and Service addresses work.

    A machine that lacks something is an error where `CI=true`, else the tests are skipped with the reason.
    """
    try:
        with running(f"test-{os.getpid()}", nodes=2) as made, made.entered():
            request.session.stash[_CLUSTER] = made
            yield made
    except CannotRunError as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Installation:
    """CacheRoute on the cluster by its chart, with engines and Prometheus."""
    installation = Installation(cluster)
    installation.install()
    return installation
