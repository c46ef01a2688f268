"""What docs/traces.md says of Envoy's access log holds on the real Envoy."""

import asyncio
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from cacheroute.simulation.traces.read import read_trace
from cacheroute.simulation.traces.readers.open import recognise
from cacheroute.simulation.traces.readers.options import TraceFormat
from e2e.gateway_rig import DEADLINE, envoy_program, until

pytestmark = pytest.mark.envoy
PAGE = Path(__file__).parent.parent / "docs" / "traces.md"
FILTERS = "type.googleapis.com/envoy.extensions.filters"
USAGE = {"prompt_tokens": 123, "completion_tokens": 7, "cached_tokens": 64}


def documented(log: Path) -> Any:
    """Return the access logger of the page, writing to ``log``."""
    snippet = re.search(r"```yaml\n(access_log:.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert snippet is not None
    text = snippet.group(1).replace("/var/log/envoy/access.jsonl", str(log))
    return yaml.safe_load(text)["access_log"]


def configuration(log: Path, port: int) -> dict[str, Any]:
    """Return an Envoy that answers by itself, with the usage where a filter of the user's would put it."""
    direct = {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": "ok"}}}
    manager = {
        "@type": f"{FILTERS}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "front",
        "access_log": documented(log),
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [direct]}]},
        "http_filters": [
            {
                "name": "envoy.filters.http.set_metadata",
                "typed_config": {
                    "@type": f"{FILTERS}.http.set_metadata.v3.Config",
                    "metadata": [{"metadata_namespace": "NAMESPACE", "value": USAGE}],
                },
            },
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{FILTERS}.http.router.v3.Router"},
            },
        ],
    }
    listener = {
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [
            {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
        ],
    }
    return {"static_resources": {"listeners": [listener]}}


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def ask(port: int) -> None:
    """Send a request as soon as Envoy listens."""
    headers = {"x-tenant-id": "acme", "x-model": "llama"}
    async with aiohttp.ClientSession() as client, asyncio.timeout(DEADLINE):
        while True:
            try:
                await (await client.post(f"http://127.0.0.1:{port}/v1/completions", headers=headers)).read()
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)
            else:
                return


async def test_the_documented_access_log_is_read(port: int, tmp_path: Path) -> None:
    config, log = tmp_path / "envoy.yaml", tmp_path / "access.jsonl"
    config.write_text(yaml.safe_dump(configuration(log, port)))
    command = (envoy_program(), "-c", config, "--use-dynamic-base-id", "--concurrency", "1", "-l", "error")
    envoy = await asyncio.create_subprocess_exec(*map(str, command))
    try:
        for _ in range(2):
            await ask(port)
        await until(lambda: log.is_file() and log.read_text().count("\n") == 2, "two lines are written")
    finally:
        envoy.kill()
        await envoy.wait()
    assert recognise(str(log)) is TraceFormat.ENVOY
    trace = read_trace(str(log))
    assert trace.keys == ("acme",)
    assert trace.models == ("llama",)
    assert (trace.prompt.tolist(), trace.output.tolist(), trace.cached.tolist()) == (
        [123] * 2,
        [7] * 2,
        [64] * 2,
    )
    assert (trace.duration < DEADLINE).all()
    assert trace.start > 1.7e9
