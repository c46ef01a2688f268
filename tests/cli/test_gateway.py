"""`cacheroute gateway bootstrap` and `secrets`: what they write, and what they say to mistakes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cacheroute.proxy.tls import secret_files
from tests.cli.running import Runner

PROVIDER: dict[str, Any] = {
    "name": "corp",
    "issuer": "https://corp.example",
    "jwksUri": "https://keys.example/x",
}


def providers(folder: Path, content: object) -> Path:
    path = folder / "providers.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_settings_are_in_the_node_and_key_sets_have_a_cluster(run: Runner, tmp_path: Path) -> None:
    ended = run.cacheroute(
        "gateway",
        "bootstrap",
        "--max-body-bytes=4096",
        "--jwt-providers",
        providers(tmp_path, [PROVIDER | {"required": True}]),
        "--tls-secrets=/etc/envoy",
        "--client-certificates=required",
    )
    config = yaml.safe_load(ended.out)
    said = config["node"]["metadata"]["cacheroute"]
    assert said["maxBodyBytes"] == 4096
    assert said["jwt"] == [PROVIDER | {"required": True}]
    assert said["tls"] == {"secrets": "/etc/envoy", "clientCertificates": "required"}
    cluster = config["static_resources"]["clusters"][-1]
    assert (cluster["name"], cluster["transport_socket"]["typed_config"]["sni"]) == (
        "jwks-corp",
        "keys.example",
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a: [", "cannot be read as YAML"),
        ("", "is no list of token providers"),
        ({"corp": PROVIDER}, "is no list of token providers"),
        ("[" * 5000, "cannot be read as YAML: it is nested too deeply"),
        ([PROVIDER | {"jwksUri": "https://keys.example:65536/x"}], "0.jwksUri: has port 65536"),
        ([PROVIDER | {"jwksUri": "http://keys.example:0"}], "0.jwksUri: has port 0"),
        ([{"name": "corp"}], "0.issuer: Field required"),
        ([PROVIDER | {"jwks": {"keys": []}}], "0: exactly one of jwks and jwksUri"),
        ([PROVIDER | {"jwksUri": "file:///etc/passwd"}], "0.jwksUri"),
        ([PROVIDER | {"jwks": {"key": []}, "jwksUri": ""}], "0.jwks: is no JSON Web Key Set"),
        ([PROVIDER, PROVIDER], "jwt: two providers have the same name"),
        ([PROVIDER | {"requird": True}], "0.requird"),
    ],
)
def test_a_mistake_in_providers_is_one_line(run: Runner, tmp_path: Path, content: object, told: str) -> None:
    path = providers(tmp_path, content)
    ended = run.cacheroute("gateway", "bootstrap", "--jwt-providers", path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith(f"cacheroute: {path}: ")
    assert told in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("bootstrap", "--client-certificates=optional"), "needs --tls-secrets"),
        (("bootstrap", "--tls-secrets=etc"), "--tls-secrets"),
        (("bootstrap", "--jwt-providers=/nowhere"), "--jwt-providers /nowhere: cannot be read: No such file"),
        (("bootstrap", "--gateway="), "is no DNS label"),
        (("bootstrap", "--gateway=a\x1b[2J"), "is no DNS label"),
        (("run", "--listen=127.0.0.1:0"), "has port 0"),
        (("secrets", "x", "--certificate=a.crt", "--key=/a.key"), "'a.crt' is no absolute path"),
    ],
)
def test_a_mistake_in_options_is_one_line(run: Runner, arguments: tuple[str, ...], told: str) -> None:
    ended = run.cacheroute("gateway", *arguments)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert told in ended.err


def test_the_folder_of_secrets_is_written(run: Runner, tmp_path: Path) -> None:
    paths = ("/tls/tls.crt", "/tls/tls.key", "/ca/ca.crt")
    options = zip(("--certificate", "--key", "--client-ca"), paths, strict=True)
    folder = tmp_path / "a" / "b"
    ended = run.cacheroute("gateway", "secrets", folder, *(part for option in options for part in option))
    assert ended.code == 0
    written = {path.name: yaml.safe_load(path.read_text()) for path in folder.iterdir()}
    assert written == secret_files(*paths)
