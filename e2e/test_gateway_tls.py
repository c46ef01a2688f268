"""mTLS of xDS with a real Envoy: who gets in, and certificates that are replaced while both sides run."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
import trustme
import yaml
from envoy.service.discovery.v3 import discovery_pb2
from structlog.testing import capture_logs

from cacheroute.cli.gateway import envoy_command
from cacheroute.proxy import doorway
from cacheroute.proxy.bootstrap import BootstrapSettings
from cacheroute.proxy.server import AdsServer
from cacheroute.proxy.snapshot import CLUSTERS
from cacheroute.proxy.xds_client_tls import XdsClientTls, sds_files
from cacheroute.proxy.xds_server_tls import IDENTITY_SUFFIX, XdsServerTls
from e2e.gateway_rig import DEADLINE, GATEWAY, Rig, envoy_program, gateway, table, until
from e2e.test_gateway_xds import open_stream

pytestmark = pytest.mark.envoy


@dataclass(slots=True)
class Folder:
    """A mounted Secret: files behind a link that is replaced at once, as Kubernetes does it."""

    path: Path
    versions: int = field(default=0)

    def put(self, ca: trustme.CA, *names: str) -> None:
        leaf = ca.issue_cert(*names)
        self.versions += 1
        content = self.path / f"..version-{self.versions}"
        content.mkdir(parents=True)
        leaf.cert_chain_pems[0].write_to_path(content / "tls.crt")
        leaf.private_key_pem.write_to_path(content / "tls.key")
        ca.cert_pem.write_to_path(content / "ca.crt")
        link = self.path / "..data_tmp"
        link.symlink_to(content.name)
        link.rename(self.path / "..data")
        for name in ("tls.crt", "tls.key", "ca.crt"):
            with contextlib.suppress(FileExistsError):
                (self.path / name).symlink_to(Path("..data") / name)


@dataclass(slots=True)
class Secured:
    """A gateway whose xDS wants mTLS."""

    rig: Rig
    operator: Folder
    proxy: Folder

    @property
    def tls(self) -> XdsServerTls:
        path = self.operator.path
        return XdsServerTls(path / "tls.crt", path / "tls.key", path / "ca.crt")

    def put(self, ca: trustme.CA) -> None:
        self.operator.put(ca, "localhost", "127.0.0.1")
        self.proxy.put(ca, GATEWAY + IDENTITY_SUFFIX)

    async def restart_ads(self) -> None:
        await self.rig.ads.stop()
        self.rig.ads = AdsServer(lambda _gateway: None)
        await self.rig.ads.start(f"127.0.0.1:{self.rig.xds_port}", self.tls)


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    async with gateway(1) as rig:
        made = Secured(rig, Folder(tmp_path / "operator"), Folder(tmp_path / "proxy"))
        made.put(trustme.CA())
        for name, content in sds_files(str(made.proxy.path)).items():
            (tmp_path / name).write_text(yaml.safe_dump(content))
        settings = BootstrapSettings(
            GATEWAY,
            "envoy-1",
            type(rig.listen)("127.0.0.1", rig.xds_port),
            rig.listen,
            rig.stats,
            rig.admin,
            tls=XdsClientTls(str(tmp_path)),
        )
        rig.command = envoy_command(envoy_program(), settings, concurrency=1, log_level="error")
        await made.restart_ads()
        await rig.start_envoy()
        yield made


def credentials(folder: Path) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        (folder / "ca.crt").read_bytes(), (folder / "tls.key").read_bytes(), (folder / "tls.crt").read_bytes()
    )


async def test_an_envoy_with_a_certificate_is_served(secured: Secured) -> None:
    await secured.rig.publish(table((secured.rig.backends[0].endpoint(0),)))
    assert (await secured.rig.ask("alice")).status == 200


async def serials(rig: Rig) -> set[str]:
    """Return the serial numbers of all certificates, also of CAs, that Envoy uses."""
    page = json.loads(await rig.page(rig.admin, "/certs"))
    return {
        one["serial_number"]
        for certificate in page["certificates"]
        for some in certificate.values()
        for one in some
    }


async def test_renewed_certificates_of_another_ca_are_used_without_a_restart(secured: Secured) -> None:
    rig = secured.rig
    tables = table((rig.backends[0].endpoint(0),))
    await rig.publish(tables)
    assert rig.envoy is not None
    process = rig.envoy.pid
    before = await serials(rig)
    secured.put(trustme.CA())
    async with asyncio.timeout(DEADLINE):
        while before & await serials(rig):  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.05)
    await secured.restart_ads()
    await rig.publish(tables)
    assert (await rig.ask("alice")).status == 200
    assert rig.envoy.pid == process


async def test_a_server_that_is_given_new_certificates_uses_them_for_the_next_connection(
    secured: Secured,
) -> None:
    ca = trustme.CA()
    secured.put(ca)
    target = f"localhost:{secured.rig.xds_port}"
    async with grpc.aio.secure_channel(target, credentials(secured.proxy.path)) as channel:
        await open_stream(channel, "DeltaAggregatedResources").write(ask(GATEWAY))
        await until(lambda: secured.rig.ads.status(GATEWAY).connected >= 1, "the stream")


def ask(cluster: str) -> bytes:
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTERS, node={"id": "other", "cluster": cluster})
    return bytes(request.SerializeToString())


async def test_a_certificate_of_another_gateway_is_refused(secured: Secured) -> None:
    target = f"localhost:{secured.rig.xds_port}"
    async with grpc.aio.secure_channel(target, credentials(secured.proxy.path)) as channel:
        call = open_stream(channel, "DeltaAggregatedResources")
        await call.write(ask("other-tenants"))
        assert await call.code() is grpc.StatusCode.PERMISSION_DENIED
        assert "other-tenants.gateway.cacheroute.dev" in await call.details()
    assert secured.rig.ads.status("other-tenants").connected == 0


async def test_peers_without_a_certificate_get_nothing_and_are_told_of(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorway, "HANDSHAKE_SECONDS", 0.2)
    await secured.rig.publish(table((secured.rig.backends[0].endpoint(0),)))
    target = f"localhost:{secured.rig.xds_port}"
    trusted = grpc.ssl_channel_credentials((secured.proxy.path / "ca.crt").read_bytes())
    with capture_logs() as logs:
        for channel in (grpc.aio.insecure_channel(target), grpc.aio.secure_channel(target, trusted)):
            async with channel:
                call = open_stream(channel, "DeltaAggregatedResources")
                assert await call.code() is grpc.StatusCode.UNAVAILABLE
        await until(lambda: any("client certificate" in one["event"] for one in logs), "the log line")
    assert secured.rig.ads.status(GATEWAY).connected == 1
