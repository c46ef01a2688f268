"""The bootstrap's clusters that key sets of token providers are fetched from."""

from typing import Any
from urllib.parse import urlsplit

from cacheroute.proxy.jwt import cluster_name
from cacheroute.proxy.settings import JwtProvider

_HTTP, _HTTPS = 80, 443


def clusters(providers: tuple[JwtProvider, ...]) -> list[dict[str, Any]]:
    """Return one envoy.config.cluster.v3.Cluster, as JSON-like values, for each provider with a ``jwks_uri``."""
    return [_cluster(one) for one in providers if one.jwks_uri]


def _cluster(provider: JwtProvider) -> dict[str, Any]:
    uri = urlsplit(provider.jwks_uri)
    host, secure = uri.hostname or "", uri.scheme == "https"
    address = {"address": host, "port_value": uri.port or (_HTTPS if secure else _HTTP)}
    endpoint = {"endpoint": {"address": {"socket_address": address}}}
    name = cluster_name(provider)
    return {
        "name": name,
        "type": "STRICT_DNS",
        "connect_timeout": "2s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
        **({"transport_socket": _tls(host, provider.ca_file)} if secure else {}),
    }


def _tls(host: str, ca_file: str) -> dict[str, Any]:
    validation = {
        "trusted_ca": {"filename": ca_file},
        "match_typed_subject_alt_names": [{"san_type": "DNS", "matcher": {"exact": host}}],
    }
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "sni": host,
            "common_tls_context": {"validation_context": validation},
        },
    }
