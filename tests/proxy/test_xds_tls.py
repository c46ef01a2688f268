"""Certificates of xDS: what is refused, with which words, and who may be which gateway."""

from pathlib import Path

import pytest
import trustme

from cacheroute.proxy.errors import GatewayError
from cacheroute.proxy.xds_server_tls import XdsServerTls, refusal


@pytest.fixture
def files(tmp_path: Path) -> XdsServerTls:
    ca = trustme.CA()
    leaf = ca.issue_cert("operator.example")
    made = XdsServerTls(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt")
    leaf.cert_chain_pems[0].write_to_path(made.certificate)
    leaf.private_key_pem.write_to_path(made.key)
    ca.cert_pem.write_to_path(made.client_ca)
    return made


def test_good_files_are_taken(files: XdsServerTls) -> None:
    files.check()


@pytest.mark.parametrize("name", ["certificate", "key", "client_ca"])
def test_a_missing_file_is_named_with_its_setting(files: XdsServerTls, name: str) -> None:
    path: Path = getattr(files, name)
    path.unlink()
    with pytest.raises(GatewayError) as refused:
        files.check()
    assert f"CACHEROUTE_XDS_TLS_{name.upper()} {path}: no such file" in str(refused.value)


@pytest.mark.parametrize("name", ["certificate", "key", "client_ca"])
@pytest.mark.parametrize("content", ["", "no certificate", "\x00\xff"])
def test_what_is_no_certificate_is_named_with_its_setting(
    files: XdsServerTls, name: str, content: str
) -> None:
    getattr(files, name).write_text(content)
    with pytest.raises(GatewayError) as refused:
        files.check()
    assert f"CACHEROUTE_XDS_TLS_{name.upper()}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_key_of_another_certificate_is_refused(files: XdsServerTls) -> None:
    trustme.CA().issue_cert("other.example").private_key_pem.write_to_path(files.key)
    with pytest.raises(GatewayError, match="CACHEROUTE_XDS_TLS_KEY"):
        files.check()


def shown(*names: str, version: str = "TLSv1.3") -> dict[str, list[bytes]]:
    return {
        "ssl_tls_version": [version.encode()],
        "x509_subject_alternative_name": [name.encode() for name in names],
    }


@pytest.mark.parametrize("name", ["batch.gateway.cacheroute.dev", "*.gateway.cacheroute.dev"])
def test_a_certificate_for_the_gateway_or_for_all_is_let_in(name: str) -> None:
    assert refusal(shown("else.example", name), "batch") == ""


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("default.gateway.cacheroute.dev",),
        ("batch",),
        ("batch.gateway.cacheroute.dev.example.com",),
        ("*.cacheroute.dev",),
    ],
)
def test_a_certificate_for_something_else_is_refused(names: tuple[str, ...]) -> None:
    assert "batch.gateway.cacheroute.dev" in refusal(shown(*names), "batch")


@pytest.mark.parametrize("gateway", ["", "*", "a" * 100_000, "default.gateway.cacheroute.dev"])
def test_strange_gateways_are_nobodys(gateway: str) -> None:
    why = refusal(shown("default.gateway.cacheroute.dev"), gateway)
    assert why
    assert len(why) < 300


def test_an_older_tls_is_refused() -> None:
    name = "batch.gateway.cacheroute.dev"
    assert "TLSv1.3" in refusal(shown(name, version="TLSv1.2"), "batch")
    assert refusal({"x509_subject_alternative_name": [name.encode()]}, "batch")
