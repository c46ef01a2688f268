from typing import Any

import pytest
from envoy.config.core.v3 import base_pb2
from google.protobuf import json_format, struct_pb2

from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap
from cacheroute.proxy.listener import listener
from cacheroute.proxy.node import MAX_METADATA_BYTES, ProxyNode, read_node
from cacheroute.proxy.settings import ClientCertificates, GatewaySettings, JwtProvider, TlsSettings
from cacheroute.proxy.tuning import Tuning

PROVIDER: dict[str, Any] = {"name": "corp", "issuer": "https://corp.example", "jwks": '{"keys": []}'}


def node_of(metadata: Any) -> base_pb2.Node:
    """Return the node of an Envoy 1.40 that says this of itself under ``cacheroute``."""
    node = base_pb2.Node(id="envoy-7", cluster="blue")
    node.user_agent_build_version.version.major_number = 1
    node.user_agent_build_version.version.minor_number = 40
    json_format.ParseDict(metadata, node.metadata.fields["cacheroute"])
    return node


def test_a_bootstrap_says_what_the_server_reads() -> None:
    provider = JwtProvider(name="corp", issuer="https://corp.example", jwks_uri="http://keys.example/x")
    tls = TlsSettings(secrets="/etc/envoy", client_certificates=ClientCertificates.OPTIONAL)
    settings = BootstrapSettings(
        "blue",
        "envoy-7",
        listen=Place("127.0.0.9", 1234),
        max_body_bytes=5000,
        jwt=(provider,),
        client_tls=tls,
    )
    node = json_format.ParseDict(bootstrap(settings)["node"], base_pb2.Node())
    node.user_agent_build_version.version.major_number = 1
    node.user_agent_build_version.version.minor_number = 40
    wanted = GatewaySettings(address="127.0.0.9", port=1234, max_body_bytes=5000, jwt=(provider,), tls=tls)
    assert read_node(node) == ProxyNode("envoy-7", "blue", (1, 40), wanted)


def test_a_node_that_says_nothing_gets_the_defaults() -> None:
    node = read_node(base_pb2.Node(id="x", cluster="y"))
    assert (node.settings, node.version) == (GatewaySettings(), (0, 0))
    assert (node.settings.address, node.settings.port) == ("0.0.0.0", 10080)


@pytest.mark.parametrize(
    ("version", "supported"), [((1, 36), False), ((1, 37), True), ((2, 0), True), ((0, 0), False)]
)
def test_versions(version: tuple[int, int], supported: bool) -> None:  # noqa: FBT001  an expectation
    assert (ProxyNode("x", "y", version).unsupported == "") is supported


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("text", "cacheroute"),
        (None, "cacheroute"),
        ([], "cacheroute"),
        ({"port": 0}, "cacheroute.port"),
        ({"port": 65_536}, "cacheroute.port"),
        ({"port": 80.5}, "cacheroute.port"),
        ({"port": "x"}, "cacheroute.port"),
        ({"port": {"a": 1}}, "cacheroute.port"),
        ({"address": 7}, "cacheroute.address"),
        ({"address": ""}, "cacheroute.address"),
        ({"address": "a b"}, "cacheroute.address"),
        ({"maxBodyBytes": 1}, "cacheroute.maxBodyBytes"),
        ({"maxBodyBytes": 1e300}, "cacheroute.maxBodyBytes"),
        ({"unknown": 1}, "cacheroute.unknown"),
        ({"jwt": "x"}, "cacheroute.jwt"),
        ({"jwt": [PROVIDER, PROVIDER]}, "cacheroute.jwt: two providers"),
        ({"jwt": [{**PROVIDER, "name": f"p{n}"} for n in range(17)]}, "cacheroute.jwt"),
        ({"jwt": [{**PROVIDER, "name": "A b"}]}, "cacheroute.jwt.0.name"),
        ({"jwt": [{**PROVIDER, "issuer": ""}]}, "cacheroute.jwt.0.issuer"),
        ({"jwt": [{**PROVIDER, "jwks": "[]"}]}, "cacheroute.jwt.0.jwks: is no JSON Web Key Set"),
        ({"jwt": [{**PROVIDER, "jwks": "[" * 60_000}]}, "cacheroute.jwt.0.jwks: is no JSON Web Key Set"),
        ({"jwt": [{**PROVIDER, "jwks": ""}]}, "cacheroute.jwt.0: exactly one of jwks and jwksUri"),
        (
            {"jwt": [{**PROVIDER, "jwksUri": "https://a/b"}]},
            "cacheroute.jwt.0: exactly one of jwks and jwksUri",
        ),
        ({"jwt": [{**PROVIDER, "jwks": "", "jwksUri": "file:///etc"}]}, "cacheroute.jwt.0.jwksUri"),
        ({"jwt": [{**PROVIDER, "required": "sometimes"}]}, "cacheroute.jwt.0.required"),
        ({"tls": {}}, "cacheroute.tls.secrets"),
        ({"tls": {"secrets": "etc/envoy"}}, "cacheroute.tls.secrets"),
        ({"tls": {"secrets": "/x", "clientCertificates": "trusted"}}, "cacheroute.tls.clientCertificates"),
        ({"x" * MAX_METADATA_BYTES: 1}, "larger than"),
    ],
)
def test_settings_that_cannot_be_used_refuse_the_proxy(metadata: Any, told: str) -> None:
    node = read_node(node_of(metadata))
    assert told in node.unsupported
    assert node.settings == GatewaySettings()


@pytest.mark.parametrize(
    "value",
    [
        struct_pb2.Value(),
        struct_pb2.Value(number_value=float("nan")),
        struct_pb2.Value(
            struct_value=struct_pb2.Struct(fields={"port": struct_pb2.Value(number_value=float("inf"))})
        ),
        struct_pb2.Value(struct_value=struct_pb2.Struct(fields={"port": struct_pb2.Value()})),
    ],
)
def test_values_that_json_cannot_have_refuse_the_proxy(value: struct_pb2.Value) -> None:
    node = node_of({})
    node.metadata.fields["cacheroute"].CopyFrom(value)
    assert read_node(node).problem


def test_a_proxy_without_providers_has_no_filter_for_tokens() -> None:
    text = str(listener(ProxyNode("x", "y", (1, 40)), Tuning()))
    assert "jwt_authn.v3" not in text
    assert "transport_sockets" not in text


def test_what_a_proxy_calls_its_settings_is_told_in_one_short_line() -> None:
    problem = read_node(node_of({"\x1b[2J" + "x" * 100_000: 1})).problem
    assert len(problem) <= 300
    assert problem.isprintable()
