"""TLS towards clients: Envoy reads certificates from files, and reads them again when they change."""

from pathlib import PurePosixPath
from typing import Any

from envoy.extensions.transport_sockets.tls.v3 import tls_pb2 as _tls  # noqa: F401  registers the message

from cacheroute.proxy.settings import ClientCertificates, TlsSettings

CERTIFICATE = "certificate"
CLIENT_CA = "client-ca"
"""Names of the two secrets; each has a file of its own, which is how Envoy reads secrets from files."""

_TYPE = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3."


def transport_socket(tls: TlsSettings) -> dict[str, Any]:
    """Return the listener's transport socket as JSON-like values.

    Sessions are not resumed where clients show certificates: Envoy would not validate them then, and
    ``peerCertificateValidated`` would be false (Envoy's documentation of the Lua filter).
    """
    common: dict[str, Any] = {
        "alpn_protocols": ["h2", "http/1.1"],
        "tls_certificate_sds_secret_configs": [_from_file(tls, CERTIFICATE)],
    }
    context: dict[str, Any] = {"common_tls_context": common}
    if tls.client_certificates is not ClientCertificates.NONE:
        common["validation_context_sds_secret_config"] = _from_file(tls, CLIENT_CA)
        context["require_client_certificate"] = tls.client_certificates is ClientCertificates.REQUIRED
        context["disable_stateless_session_resumption"] = True
        context["disable_stateful_session_resumption"] = True
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {"@type": f"{_TYPE}DownstreamTlsContext", **context},
    }


def secret_files(certificate: str, key: str, client_ca: str = "") -> dict[str, dict[str, Any]]:
    """Return the files of the folder of secrets, each an envoy.service.discovery.v3.DiscoveryResponse, by name.

    Args:
        certificate: path of the certificate chain in the proxy's container, PEM.
        key: path of its private key.
        client_ca: path of the certificates that sign clients' certificates; empty where clients show none.
    """
    chain = {
        "certificate_chain": {"filename": certificate},
        "private_key": {"filename": key},
        "watched_directory": _folder(certificate),
    }
    files = {_file(CERTIFICATE): _secret(CERTIFICATE, {"tls_certificate": chain})}
    if client_ca:
        context = {"trusted_ca": {"filename": client_ca}, "watched_directory": _folder(client_ca)}
        files[_file(CLIENT_CA)] = _secret(CLIENT_CA, {"validation_context": context})
    return files


def _file(name: str) -> str:
    return f"{name}.yaml"


def _secret(name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"resources": [{"@type": f"{_TYPE}Secret", "name": name, **content}]}


def _folder(path: str) -> dict[str, str]:
    return {"path": str(PurePosixPath(path).parent)}


def _from_file(tls: TlsSettings, name: str) -> dict[str, Any]:
    source = {"path_config_source": {"path": f"{tls.secrets}/{_file(name)}"}, "resource_api_version": "V3"}
    return {"name": name, "sds_config": source}
