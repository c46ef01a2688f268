"""The filter that verifies tokens; only listeners of proxies with providers have it.

A verified token's claims become metadata of the request (``payload_in_metadata``), where the Lua script looks for
keys. Claims of a token that is not verified never get there (envoy.extensions.filters.http.jwt_authn.v3).
"""

from typing import Any

from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2 as _jwt  # noqa: F401  registers the message

from cacheroute.proxy.settings import JwtProvider

FILTER = "envoy.filters.http.jwt_authn"
"""The filter's name, and the namespace of its metadata."""
CLUSTER_PREFIX = "jwks-"
"""Before a provider's name in the name of the bootstrap's cluster that its key set comes from."""

_CACHED_TOKENS = 1000
"""Verified tokens that each worker remembers, until they expire: checking a signature costs more than routing."""
_KEY_SET_SECONDS = 300
_FETCH_SECONDS = 2


def cluster_name(provider: JwtProvider) -> str:
    """Return the name of the cluster that the provider's key set comes from."""
    return CLUSTER_PREFIX + provider.name


def jwt_config(providers: tuple[JwtProvider, ...]) -> dict[str, Any]:
    """Return an envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication as JSON-like values."""
    rule = {"match": {"prefix": "/"}, "requires": _requirement(providers)}
    return {"providers": {one.name: _provider(one) for one in providers}, "rules": [rule]}


def _requirement(providers: tuple[JwtProvider, ...]) -> dict[str, Any]:
    """Verify what is there of every provider, and insist on a token of one of those that are required."""
    required = [_named(one) for one in providers if one.required]
    optional = [_any(_named(one), {"allow_missing_or_failed": {}}) for one in providers if not one.required]
    needs = [_any(*required), *optional] if required else optional
    return needs[0] if len(needs) == 1 else {"requires_all": {"requirements": needs}}


def _named(provider: JwtProvider) -> dict[str, Any]:
    return {"provider_name": provider.name}


def _any(*requirements: dict[str, Any]) -> dict[str, Any]:
    if len(requirements) == 1:
        return requirements[0]
    return {"requires_any": {"requirements": list(requirements)}}


def _provider(provider: JwtProvider) -> dict[str, Any]:
    headers = [{"name": one.name, "value_prefix": one.value_prefix} for one in provider.from_headers] or [
        {"name": "Authorization", "value_prefix": "Bearer "}
    ]
    return {
        "issuer": provider.issuer,
        "audiences": list(provider.audiences),
        "require_expiration": True,
        "forward": provider.forward,
        "from_headers": headers,
        "payload_in_metadata": provider.name,
        "jwt_cache_config": {"jwt_cache_size": _CACHED_TOKENS},
        **_key_set(provider),
    }


def _key_set(provider: JwtProvider) -> dict[str, Any]:
    if provider.jwks:
        return {"local_jwks": {"inline_string": provider.jwks}}
    source = {"uri": provider.jwks_uri, "cluster": cluster_name(provider), "timeout": f"{_FETCH_SECONDS}s"}
    return {"remote_jwks": {"http_uri": source, "cache_duration": f"{_KEY_SET_SECONDS}s", "async_fetch": {}}}
