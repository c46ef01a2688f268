"""An Envoy's side of mTLS to the operator: file SDS, so that renewed certificates are used without a restart."""

import ipaddress
from dataclasses import dataclass
from typing import Any

CERTIFICATE, KEY, CLIENT_CA = "tls.crt", "tls.key", "ca.crt"
"""Files of a folder with certificates: the names in a Secret of type kubernetes.io/tls."""
CERTIFICATE_SDS, CA_SDS = "xds-certificate.yaml", "xds-ca.yaml"
"""Files that tell Envoy where they are; Envoy wants one file for each secret."""
_TYPE = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3."
_CERTIFICATE_NAME, _CA_NAME = "xds_certificate", "xds_ca"


@dataclass(frozen=True, slots=True)
class XdsClientTls:
    """Where an Envoy finds what it needs to be let in by the operator.

    Attributes:
        sds: folder with the files of ``sds_files``.
        server_name: the name that the operator's certificate must have; empty for the host of the xDS address.
    """

    sds: str
    server_name: str = ""


def transport_socket(tls: XdsClientTls, host: str) -> dict[str, Any]:
    """Return the transport_socket of the xDS cluster: TLS 1.3 only, both sides show certificates."""
    name = tls.server_name or host
    kind = "IP_ADDRESS" if _is_ip(name) else "DNS"
    validation = {
        "default_validation_context": {
            "match_typed_subject_alt_names": [{"san_type": kind, "matcher": {"exact": name}}]
        },
        "validation_context_sds_secret_config": _secret(_CA_NAME, tls, CA_SDS),
    }
    context = {
        "@type": _TYPE + "UpstreamTlsContext",
        **({} if _is_ip(name) else {"sni": name}),
        "common_tls_context": {
            "tls_params": {
                "tls_minimum_protocol_version": "TLSv1_3",
                "tls_maximum_protocol_version": "TLSv1_3",
            },
            "alpn_protocols": ["h2"],
            "tls_certificate_sds_secret_configs": [_secret(_CERTIFICATE_NAME, tls, CERTIFICATE_SDS)],
            "combined_validation_context": validation,
        },
    }
    return {"name": "envoy.transport_sockets.tls", "typed_config": context}


def sds_files(certificates: str) -> dict[str, dict[str, Any]]:
    """Return file name → content as JSON-like values: envoy.service.discovery.v3.DiscoveryResponse.

    Args:
        certificates: folder with tls.crt, tls.key and ca.crt, as a mounted Secret has them.

    Envoy reads certificate and key together and watches their folder for renames, which is how Kubernetes and
    cert-manager replace them (envoy: TlsCertificate.watched_directory).
    """
    watched = {"path": certificates}
    certificate = {
        "certificate_chain": {"filename": f"{certificates}/{CERTIFICATE}"},
        "private_key": {"filename": f"{certificates}/{KEY}"},
        "watched_directory": watched,
    }
    trusted = {"trusted_ca": {"filename": f"{certificates}/{CLIENT_CA}"}, "watched_directory": watched}
    return {
        CERTIFICATE_SDS: _response(_CERTIFICATE_NAME, {"tls_certificate": certificate}),
        CA_SDS: _response(_CA_NAME, {"validation_context": trusted}),
    }


def _response(name: str, secret: dict[str, Any]) -> dict[str, Any]:
    return {"resources": [{"@type": _TYPE + "Secret", "name": name, **secret}]}


def _secret(name: str, tls: XdsClientTls, file: str) -> dict[str, Any]:
    path = {"path": f"{tls.sds}/{file}"}
    return {"name": name, "sds_config": {"path_config_source": path, "resource_api_version": "V3"}}


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
