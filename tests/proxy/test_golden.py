"""The compiled configuration of a small table, in full: a change of it must be meant.

Run with CACHEROUTE_UPDATE_GOLDEN=1 to write the files anew, then read the difference.
"""

import json
import os
from pathlib import Path

import pytest
import yaml
from google.protobuf import json_format
from google.protobuf.message import Message

from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap
from cacheroute.proxy.clusters import cluster, endpoints
from cacheroute.proxy.listener import listener
from cacheroute.proxy.node import ProxyNode
from cacheroute.proxy.script import lua_script
from cacheroute.proxy.settings import (
    DEFAULT_BODY_BYTES,
    ClientCertificates,
    GatewaySettings,
    JwtProvider,
    TlsSettings,
    TokenHeader,
)
from cacheroute.proxy.tls import secret_files
from cacheroute.proxy.tuning import Tuning
from tests.proxy.builders import route_configuration, table

DATA = Path(__file__).parent / "data"
TABLES = (table(), table("rest", ("*",), groups=()))
SETTINGS = GatewaySettings(
    address="127.0.0.9",
    port=8443,
    max_body_bytes=1_000_000,
    jwt=(
        JwtProvider(name="corp", issuer="https://corp.example", jwks='{"keys": []}', required=True),
        JwtProvider(name="partner", issuer="https://partner.example", jwks='{"keys": []}', required=True),
        JwtProvider(
            name="cloud",
            issuer="https://cloud.example",
            audiences=("inference",),
            jwks_uri="https://cloud.example/keys",
            from_headers=(TokenHeader(name="x-cloud-token"),),
            forward=False,
        ),
    ),
    tls=TlsSettings(secrets="/etc/envoy", client_certificates=ClientCertificates.REQUIRED),
)
COMPILED: dict[str, Message] = {
    "listener": listener(ProxyNode("envoy-1", "default", (1, 40)), Tuning()),
    "listener-everything": listener(ProxyNode("envoy-1", "default", (1, 40), SETTINGS), Tuning()),
    "routes": route_configuration(TABLES),
    "cluster": cluster(TABLES[0], Tuning()),
    "endpoints": endpoints(TABLES[0]),
}


def same_as_file(name: str, content: object) -> None:
    plain = json.dumps(content)
    for limit in (DEFAULT_BODY_BYTES, SETTINGS.max_body_bytes):
        plain = plain.replace(json.dumps(lua_script(limit)), '"the files in lua/"')
    text = yaml.safe_dump(json.loads(plain), width=110, allow_unicode=True)
    path = DATA / f"{name}.yaml"
    if os.environ.get("CACHEROUTE_UPDATE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("name", COMPILED)
def test_resources(name: str) -> None:
    same_as_file(name, json_format.MessageToDict(COMPILED[name], preserving_proto_field_name=True))


def test_bootstrap() -> None:
    same_as_file("bootstrap", bootstrap(BootstrapSettings("default", xds=Place("cacheroute-xds", 18000))))


def test_bootstrap_with_every_setting() -> None:
    settings = BootstrapSettings(
        "default",
        max_body_bytes=1_000_000,
        max_heap_bytes=800_000_000,
        jwt=SETTINGS.jwt,
        client_tls=SETTINGS.tls,
    )
    same_as_file("bootstrap-everything", bootstrap(settings))


def test_secrets() -> None:
    same_as_file("secrets", secret_files("/etc/tls/tls.crt", "/etc/tls/tls.key", "/etc/client-ca/ca.crt"))
