"""Row 2, proxies: 100 protocol clients over mTLS, and how long until all have acknowledged a changed plan.

The operator's part runs in a process of its own: it plans 100,000 keys by the product's `reconcile` and serves them by
the ADS server. The clients run in two more processes.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import trustme

from benchmarks.gateway.results import Figure, Row, median, worst
from cacheroute.controllers import operator as _whole_operator  # noqa: F401  its modules count for the memory
from cacheroute.domain.claims import Claim
from cacheroute.domain.fleet import Destination, Fleet, Pool
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.observation import Event, Observation
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.spec import PlanRef, PlanSpec
from cacheroute.domain.table import RoutingTable, routing_table
from cacheroute.proxy.server import AdsServer
from cacheroute.proxy.snapshot import ROUTES
from cacheroute.proxy.xds_server_tls import IDENTITY_SUFFIX, XdsServerTls
from e2e.ads_client import OPTIONS, AdsClient

KEYS, DESTINATIONS, PROXIES, CHANGES = 100_000, 30, 100, 7
QUICK_KEYS, QUICK_PROXIES, QUICK_CHANGES = 2_000, 10, 2
GATEWAY, POOL = "default", "gpu"
SECONDS, MEGABYTES = 3.0, 500.0
_DEADLINE = 60.0
_CLIENT_PROCESSES = 2


def run(say: Callable[[str], None], *, quick: bool = False) -> Row:
    """Measure."""
    keys, proxies, changes = (QUICK_KEYS, QUICK_PROXIES, QUICK_CHANGES) if quick else (KEYS, PROXIES, CHANGES)
    say(f"{proxies} proxies, {keys} keys, {changes} changes")
    with tempfile.TemporaryDirectory() as folder:
        _certificates(Path(folder))
        words = [
            sys.executable,
            "-m",
            "benchmarks.gateway.proxies",
            "serve",
            folder,
            str(keys),
            str(proxies),
            str(changes),
        ]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=600)  # noqa: S603  our own module
    found = json.loads(done.stdout.splitlines()[-1])
    figures: list[Figure] = [
        median(f"changed plan of {keys} keys, until {proxies} proxies have it", found["all"], "s", SECONDS),
        median("the same, until the first has it", found["first"], "s"),
        worst("operator RSS, highest", [found["rss"]], "MB", MEGABYTES),
    ]
    return Row("proxies", f"{proxies} connected proxies over mTLS", figures, {"route_bytes": found["bytes"]})


def _certificates(folder: Path) -> None:
    ca = trustme.CA()
    server, client = ca.issue_cert("localhost"), ca.issue_cert(GATEWAY + IDENTITY_SUFFIX)
    ca.cert_pem.write_to_path(folder / "ca.crt")
    for name, one in (("server", server), ("client", client)):
        one.cert_chain_pems[0].write_to_path(folder / f"{name}.crt")
        one.private_key_pem.write_to_path(folder / f"{name}.key")


def plans(keys: int, number: int) -> list[tuple[RoutingTable, ...]]:
    """Return the tables of successive plans, each of which moves some keys."""
    random = np.random.default_rng(0)
    pool = Pool(POOL, 40.0, 1 + keys // DESTINATIONS * 2)
    source = KeySource(KeySourceKind.HEADER, "x-tenant-id")
    spec = PlanSpec(PlanRef("default", "plan"), 1, 0.0, GATEWAY, ("llama",), (pool,), (source,))
    names = tuple(f"tenant-{one:08}" for one in range(keys))
    fleet = Fleet(
        tuple(Destination(f"vllm-{one:02}", f"10.0.0.{one + 1}", 8000, POOL) for one in range(DESTINATIONS))
    )
    found: list[tuple[RoutingTable, ...]] = []
    plan: Plan | None = None
    for step in range(number):
        values = random.permutation(1.0 / np.arange(1, keys + 1) ** 0.9)
        rates = Rates(names, values * 800 / values.sum(), 0.0, 0.0, 10.0 * step)
        observation = Observation(spec, Claim(accepted=True), None, fleet, rates, plan, GatewayStatus(), None)
        plan = reconcile(10.0 * step, observation, Event.INTERVAL).plan
        found.append((routing_table(spec, plan, fleet),))
    return found


async def serve(folder: Path, keys: int, proxies: int, changes: int) -> dict[str, Any]:
    """Serve the plans one after the other; returns the times."""
    tables = plans(keys, changes + 1)
    ads = AdsServer(lambda _gateway: None)
    tls = XdsServerTls(folder / "server.crt", folder / "server.key", folder / "ca.crt")
    port = await ads.start("localhost:0", tls)
    ads.publish(GATEWAY, tables[0])
    clients = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.gateway.proxies", "connect", str(folder), str(port)),
            *(str(one), str(proxies // _CLIENT_PROCESSES)),
        )
        for one in range(_CLIENT_PROCESSES)
    ]
    try:
        await _until(lambda: ads.status(GATEWAY).synced == proxies)
        return await _changes(ads, proxies, tables[1:])
    finally:
        for one in clients:
            one.terminate()
        await asyncio.gather(*(one.wait() for one in clients))
        await ads.stop()


async def _changes(ads: AdsServer, proxies: int, tables: list[tuple[RoutingTable, ...]]) -> dict[str, Any]:
    first, everybody = [], []
    for each in tables:
        start = time.monotonic()
        ads.publish(GATEWAY, each)
        await _until(lambda: ads.status(GATEWAY).synced > 0)
        first.append(time.monotonic() - start)
        await _until(lambda: ads.status(GATEWAY).synced == proxies)
        everybody.append(time.monotonic() - start)
    target = ads._offers[GATEWAY].rollout.target  # noqa: SLF001  only to tell how much is sent
    size = sum(len(one.frame) for one in target.of(ROUTES).values()) if target else 0
    return {"first": first, "all": everybody, "rss": _highest_rss(), "bytes": size}


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_DEADLINE):
        while not condition():  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.005)


def _highest_rss() -> float:
    """Return the most memory that this process has had, MB."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


async def be_proxies(folder: Path, port: int, first: int, number: int) -> None:
    """Run so many proxies until this process is ended."""
    read = [(folder / name).read_bytes() for name in ("ca.crt", "client.key", "client.crt")]
    credentials = grpc.ssl_channel_credentials(*read)
    channels = [
        grpc.aio.secure_channel(f"localhost:{port}", credentials, options=OPTIONS) for _ in range(number)
    ]
    names = (f"proxy-{first}-{one:03}" for one in range(number))
    await asyncio.gather(
        *(AdsClient(one, name, GATEWAY).run() for one, name in zip(channels, names, strict=True))
    )


def _main(words: list[str]) -> None:
    role, folder, *numbers = words
    one, two, three = map(int, numbers)
    if role == "serve":
        sys.stdout.write(json.dumps(asyncio.run(serve(Path(folder), one, two, three))) + "\n")
    else:
        asyncio.run(be_proxies(Path(folder), one, two, three))


if __name__ == "__main__":
    _main(sys.argv[1:])
