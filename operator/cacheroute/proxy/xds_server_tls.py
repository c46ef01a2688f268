"""The operator's side of mTLS: certificates read anew for every connection, and who may be which gateway."""

import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog

from cacheroute.proxy.errors import GatewayError

IDENTITY_SUFFIX = ".gateway.cacheroute.dev"
"""A client certificate is for gateway G where it has the DNS name G + this, or ``*`` + this for every gateway."""
TLS_VERSION = "TLSv1.3"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class XdsServerTls:
    """Files in PEM form.

    Attributes:
        certificate: the operator's own, with its chain.
        key: of that certificate.
        client_ca: who signs the certificates of proxies.
    """

    certificate: Path
    key: Path
    client_ca: Path

    def check(self) -> None:
        """Raise GatewayError where the files cannot be used."""
        for path, setting in (
            (self.certificate, "CERTIFICATE"),
            (self.key, "KEY"),
            (self.client_ca, "CLIENT_CA"),
        ):
            _readable(path, f"CACHEROUTE_XDS_TLS_{setting} {path}")
        try:
            ssl.create_default_context(cafile=self.client_ca)
        except ssl.SSLError as error:
            raise GatewayError(
                f"CACHEROUTE_XDS_TLS_CLIENT_CA {self.client_ca}: holds no certificate; give a file in PEM form"
            ) from error
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, _no_password)
        except (ssl.SSLError, ValueError) as error:
            raise GatewayError(
                f"CACHEROUTE_XDS_TLS_CERTIFICATE {self.certificate} and CACHEROUTE_XDS_TLS_KEY {self.key}: are no "
                "certificate in PEM form and its key without password; give such files"
            ) from error


class ServerCertificates:
    """Gives gRPC the present files at every handshake, the last good ones while they cannot be used."""

    def __init__(self, files: XdsServerTls, on_handshake: Callable[[], None]) -> None:
        """Read the files; ``on_handshake`` is called in gRPC's thread when a peer connects.

        Raises:
            GatewayError: they cannot be used.
        """
        self._files, self._on_handshake = files, on_handshake
        self._lock = threading.Lock()
        self._content: tuple[bytes, ...] = ()
        self._good = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials that require a client certificate."""
        return grpc.dynamic_ssl_server_credentials(
            self._good, self._fetch, require_client_authentication=True
        )

    def _fetch(self) -> grpc.ServerCertificateConfiguration:
        self._on_handshake()
        with self._lock:
            try:
                self._good = self._read()
            except (GatewayError, OSError) as error:
                _log.error("xDS certificates cannot be used, the last good ones are", why=str(error))
            return self._good

    def _read(self) -> grpc.ServerCertificateConfiguration:
        files = self._files
        paths = (files.key, files.certificate, files.client_ca)
        content = tuple(path.read_bytes() if path.is_file() else b"" for path in paths)
        if content == self._content:
            return self._good
        files.check()
        key, certificate, client_ca = content
        good = grpc.ssl_server_certificate_configuration([(key, certificate)], client_ca)
        self._content = content
        return good


def refusal(auth_context: Mapping[str, Iterable[bytes]], gateway: str) -> str:
    """Return why a peer may not be a proxy of the gateway; empty where it may.

    Args:
        auth_context: of gRPC, for a connection that has shown a certificate of a trusted CA.
        gateway: node.cluster that the peer claims.
    """
    version = b"".join(auth_context.get("ssl_tls_version", ())).decode("ascii", "replace")
    if version != TLS_VERSION:
        return f"it speaks {version or 'an unknown TLS version'}: use {TLS_VERSION}"
    names = {
        name.decode("utf-8", "replace") for name in auth_context.get("x509_subject_alternative_name", ())
    }
    if names & {gateway + IDENTITY_SUFFIX, "*" + IDENTITY_SUFFIX}:
        return ""
    return f"its certificate is not for gateway {gateway[:64]!r}: it needs the DNS name {gateway[:64]}{IDENTITY_SUFFIX}"


def _readable(path: Path, what: str) -> None:
    try:
        path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GatewayError(f"{what}: {reason}; mount the certificates there or unset all three") from error


def _no_password() -> str:
    raise ValueError("the key has a password")
