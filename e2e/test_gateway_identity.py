"""Keys from verified tokens and client certificates, on a real Envoy that verifies them itself."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.table import TableGroup
from cacheroute.proxy.settings import (
    ClientCertificates,
    GatewaySettings,
    JwtProvider,
    TlsSettings,
    TokenHeader,
)
from cacheroute.proxy.tls import secret_files
from e2e.gateway_rig import DEADLINE, GATEWAY, Answer, Rig, gateway, table, until
from e2e.identities import Authority, Issuer, unsigned

pytestmark = pytest.mark.envoy

CORP = Issuer("https://corp.example")
PARTNER = Issuer("https://partner.example")
STRANGER = Issuer("https://corp.example")
"""Says that it is CORP and has another key."""
SPIFFE = "spiffe://cluster.example/ns/a/sa/alice"
JWT_SOURCES = (
    KeySource(KeySourceKind.JWT_CLAIM, "tenant", "corp"),
    KeySource(KeySourceKind.JWT_CLAIM, "org.id", "corp"),
    KeySource(KeySourceKind.JWT_CLAIM, "https://partner.example/tenant", "partner"),
    KeySource(KeySourceKind.HEADER, "x-tenant-id"),
    KeySource(KeySourceKind.BODY_FIELD, "user"),
)
GROUPS = (TableGroup((0,), (), ("alice", SPIFFE)), TableGroup((1,), (), ("bob",)))


def provider(issuer: Issuer, name: str, **more: Any) -> JwtProvider:
    return JwtProvider(name=name, issuer=issuer.name, **({"jwks": issuer.jwks} | more))


async def serve(rig: Rig, sources: tuple[KeySource, ...]) -> Rig:
    endpoints = tuple(backend.endpoint(seat) for seat, backend in enumerate(rig.backends))
    await rig.publish(table(endpoints, GROUPS, sources=sources))
    return rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    partner = provider(PARTNER, "partner", from_headers=(TokenHeader(name="x-partner-token"),))
    async with gateway(
        3, wanted=GatewaySettings(jwt=(provider(CORP, "corp", audiences=("llm",)), partner))
    ) as made:
        yield await serve(made, JWT_SOURCES)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def ask(rig: Rig, headers: dict[str, str], **body: Any) -> Answer:
    return await rig.post({"model": "llama", **body}, headers)


async def test_a_claim_of_a_verified_token_is_a_key_and_comes_first(rig: Rig) -> None:
    assert rig.ads.status(GATEWAY).providers == {"corp", "partner"}
    headers = bearer(CORP.token(aud="llm", tenant="Alice")) | {"x-tenant-id": "bob"}
    answer = await ask(rig, headers, user="bob")
    assert (answer.destination, answer.decision) == ("pod-0", "planned")
    assert json.loads(answer.text)["headers"]["authorization"].startswith("Bearer ")


async def test_claims_are_found_by_name_and_inside_others(rig: Rig) -> None:
    nested = bearer(CORP.token(aud="llm", org={"id": "bob"}))
    named = {"x-partner-token": PARTNER.token(**{"https://partner.example/tenant": "bob"})}
    for headers in (nested, named, bearer(CORP.token(aud=["x", "llm"])) | named):
        answer = await ask(rig, headers, user="alice")
        assert (answer.destination, answer.decision) == ("pod-1", "planned")


TOKENS_WITHOUT_A_KEY = (
    "",
    "x",
    "a.b.c",
    STRANGER.token(aud="llm", tenant="alice"),
    PARTNER.token(aud="llm", tenant="alice"),
    CORP.token(aud="other", tenant="alice"),
    CORP.token(tenant="alice"),
    CORP.token(aud="llm", tenant="alice", exp=1_000_000_000),
    CORP.token(aud="llm", tenant="alice", exp=None),
    CORP.token(aud="llm", tenant="alice", nbf=4_000_000_000),
    CORP.token(aud="llm", tenant="alice")[:-8] + "AAAAAAAA",
    unsigned(iss=CORP.name, aud="llm", tenant="alice"),
    unsigned(iss=CORP.name, aud="llm", tenant="alice") + "x",
    CORP.token(aud="llm", tenant=["alice"]),
    CORP.token(aud="llm", tenant={"tenant": "alice"}),
    CORP.token(aud="llm", tenant=7),
    CORP.token(aud="llm", org="alice"),
    CORP.token(aud="llm", org=[{"id": "alice"}]),
    CORP.token(aud="llm", Tenant="alice"),
)


async def test_a_token_that_is_not_verified_or_has_no_such_claim_gives_no_key(rig: Rig) -> None:
    for token in TOKENS_WITHOUT_A_KEY:
        answer = await ask(rig, bearer(token), user="bob")
        assert (answer.status, answer.destination, answer.decision) == (200, "pod-1", "planned"), token


async def test_a_claim_outside_the_alphabet_is_cold_and_the_next_source_is_not_asked(rig: Rig) -> None:
    answer = await ask(rig, bearer(CORP.token(aud="llm", tenant="p/inference/llama/*")), user="bob")
    assert answer.decision == "cold"


async def test_a_token_can_be_required() -> None:
    wanted = GatewaySettings(
        jwt=(provider(CORP, "corp", required=True), provider(PARTNER, "partner", required=True))
    )
    async with gateway(3, wanted=wanted) as rig:
        await serve(rig, JWT_SOURCES)
        for headers in ({}, bearer("x"), bearer(STRANGER.token(tenant="alice"))):
            answer = await ask(rig, headers, user="bob")
            error = json.loads(answer.text)["error"]
            assert (answer.status, error["type"], error["code"]) == (401, "authentication_error", 401)
            assert error["message"].startswith("This gateway needs a valid token: Jwt")
        for issuer in (CORP, PARTNER):
            assert (await ask(rig, bearer(issuer.token(tenant="alice")), user="alice")).destination == "pod-0"


async def test_keys_of_a_provider_are_fetched_from_its_uri() -> None:
    app = web.Application()

    async def keys(_request: web.Request) -> web.Response:
        return web.json_response(text=CORP.jwks)

    app.router.add_get("/keys", keys)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    uri = f"http://127.0.0.1:{runner.addresses[0][1]}/keys"
    try:
        wanted = GatewaySettings(jwt=(provider(CORP, "corp", jwks="", jwks_uri=uri),))
        async with gateway(3, wanted=wanted) as rig:
            await serve(rig, JWT_SOURCES)
            assert (await ask(rig, bearer(CORP.token(tenant="alice")))).destination == "pod-0"
            assert (await ask(rig, bearer(STRANGER.token(tenant="alice")), user="bob")).destination == "pod-1"
    finally:
        await runner.cleanup()


async def test_a_body_over_the_gateways_own_limit_is_a_clear_413() -> None:
    async with gateway(1, wanted=GatewaySettings(max_body_bytes=4096)) as rig:
        await serve(rig, JWT_SOURCES)
        assert (await ask(rig, {}, prompt="x" * 2000)).status == 200
        answer = await ask(rig, {}, prompt="x" * 5000)
        assert answer.status == 413
        assert "4096 bytes" in json.loads(answer.text)["error"]["message"]


async def test_a_proxy_with_settings_that_cannot_be_used_is_refused_and_told() -> None:
    async with gateway(1) as rig:
        place = rig.command.index("--config-yaml") + 1
        config = json.loads(rig.command[place])
        config["node"]["metadata"]["cacheroute"]["jwt"] = [{"name": "corp"}]
        rig.command[place] = json.dumps(config)
        await rig.start_envoy()
        await until(lambda: bool(rig.ads.status("default").rejections), "the refusal")
        refusal = rig.ads.status("default").rejections[0]
        assert (refusal.node, refusal.reason) == ("envoy-1", "InvalidSettings")
        assert "cacheroute.jwt.0.issuer" in refusal.message


class Tls:
    """Files of a gateway that speaks TLS, and clients' views of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server_ca, self.client_ca = Authority(folder, "server-ca"), Authority(folder, "client-ca")
        self.stranger = Authority(folder, "stranger-ca")
        certificate, key = self.server_ca.issue("gateway")
        for name, content in secret_files(
            str(certificate), str(key), str(self.client_ca.certificate)
        ).items():
            (folder / name).write_text(yaml.safe_dump(content))

    def settings(self, certificates: ClientCertificates) -> GatewaySettings:
        return GatewaySettings(tls=TlsSettings(secrets=str(self.folder), client_certificates=certificates))

    def client(self, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.server_ca.certificate)
        if pair:
            context.load_cert_chain(*pair)
        return context


TLS_SOURCES = (
    KeySource(KeySourceKind.CLIENT_CERTIFICATE, "SpiffeId"),
    KeySource(KeySourceKind.HEADER, "x-tenant-id"),
)


async def tls_ask(rig: Rig, context: ssl.SSLContext) -> Answer:
    """Send a request on a connection of its own."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client:
        return await replace(rig, client=client).post({"model": "llama"}, {"x-tenant-id": "bob"})


async def test_the_identity_in_a_validated_client_certificate_is_a_key(tmp_path: Path) -> None:
    tls = Tls(tmp_path)
    async with gateway(3, wanted=tls.settings(ClientCertificates.OPTIONAL)) as rig:
        await serve(rig, TLS_SOURCES)
        alice = tls.client_ca.issue("alice", uris=(SPIFFE,))
        assert (await tls_ask(rig, tls.client(alice))).destination == "pod-0"
        several = tls.client_ca.issue("several", uris=(SPIFFE, "spiffe://other/x"))
        other = tls.client_ca.issue("other", uris=("https://cluster.example/alice",))
        nameless = tls.client_ca.issue("nameless")
        for pair in (several, other, nameless, None):
            answer = await tls_ask(rig, tls.client(pair))
            assert (answer.destination, answer.decision) == ("pod-1", "planned"), pair
        with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
            await tls_ask(rig, tls.client(tls.stranger.issue("spoof", uris=(SPIFFE,))))


async def test_a_client_certificate_can_be_required(tmp_path: Path) -> None:
    tls = Tls(tmp_path)
    async with gateway(3, wanted=tls.settings(ClientCertificates.REQUIRED)) as rig:
        await serve(rig, TLS_SOURCES)
        with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
            await tls_ask(rig, tls.client())
        assert (await tls_ask(rig, tls.client(tls.client_ca.issue("nameless")))).status == 200


async def test_certificates_are_never_asked_for_without_a_setting(tmp_path: Path) -> None:
    tls = Tls(tmp_path)
    async with gateway(3, wanted=tls.settings(ClientCertificates.NONE)) as rig:
        await serve(rig, TLS_SOURCES)
        answer = await tls_ask(rig, tls.client(tls.client_ca.issue("alice", uris=(SPIFFE,))))
        assert answer.destination == "pod-1"


async def test_a_new_certificate_is_used_without_a_restart(tmp_path: Path) -> None:
    tls = Tls(tmp_path)
    async with gateway(1, wanted=tls.settings(ClientCertificates.NONE)) as rig:
        await serve(rig, TLS_SOURCES)
        assert (await tls_ask(rig, tls.client())).status == 200
        renewed = Authority(tmp_path, "renewed-ca")
        (tmp_path / "new").mkdir()
        certificate, key = renewed.issue("gateway", at=tmp_path / "new")
        for file in (key, certificate):
            file.replace(tmp_path / file.name)
        trusting = ssl.create_default_context(cafile=renewed.certificate)
        async with asyncio.timeout(DEADLINE):
            while not await trusted(rig, trusting):  # noqa: ASYNC110  the other side is a process
                await asyncio.sleep(0.01)


async def trusted(rig: Rig, context: ssl.SSLContext) -> bool:
    try:
        return (await tls_ask(rig, context)).status == 200
    except aiohttp.ClientConnectorCertificateError:
        return False
