"""Routing keys: where a request's key is found and which keys can be planned.

The gateway, the rates and the planner must agree on one spelling of a key, so the rules stand here once:
the gateway's scanner is generated from these constants. Envoy matches virtual-host domains without regard
to case, treats a leading or trailing ``*`` as a wildcard and rejects a whole table for one bad domain
(envoy.config.route.v3.VirtualHost.domains); hence a small alphabet and one case. Its counters lose dots
at the end of a label, so no key ends with one: ``acme.`` would be counted as ``acme``.
"""

import enum
import re
from dataclasses import dataclass

KEY_PUNCTUATION = "._:@/+=~|-"
"""The characters besides ASCII letters and digits that a key may contain."""

MAX_KEY_LENGTH = 256
"""The longest key that any plan may allow, in characters."""

KEYED_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/responses")
"""Requests that prefill a prompt: only they have a key. Everything else of the API takes the cold route."""

_ALPHABET = rf"a-z0-9{re.escape(KEY_PUNCTUATION)}"
KEY_PATTERN = rf"^[{_ALPHABET}]*[{_ALPHABET.replace(re.escape('.'), '')}]$"
"""What a canonical key looks like."""

_CANONICAL = re.compile(KEY_PATTERN)


class KeySourceKind(enum.StrEnum):
    """Where in a request a key is looked for."""

    HEADER = "header"
    COOKIE = "cookie"
    BODY_FIELD = "bodyField"
    JWT_CLAIM = "jwtClaim"
    CLIENT_CERTIFICATE = "clientCertificate"


@dataclass(frozen=True, slots=True)
class KeySource:
    """One place to look for a key.

    Attributes:
        kind: what is looked at.
        name: of a header in lower case, of a cookie, or the path of a JSON member or claim, with dots between the
            levels; of a client certificate, what of it: ``SpiffeId``.
        provider: whose token a claim is of, a name from the gateway's settings.
    """

    kind: KeySourceKind
    name: str
    provider: str = ""


def canonical_key(raw: str, max_length: int) -> str | None:
    """Return the one spelling of ``raw`` that is planned, or None where the key cannot be planned.

    A key that is empty, longer than ``max_length`` characters, outside the alphabet or with a dot at its end is served by the
    cold route and counted; it never reaches a routing table.
    """
    lowered = raw.translate(_ASCII_LOWER)
    if len(lowered) > max_length or _CANONICAL.fullmatch(lowered) is None:
        return None
    return lowered


def canonical_model(model: str) -> str:
    """Return the one spelling of a model name; Envoy matches without regard to case, so the gateway does too."""
    return model.translate(_ASCII_LOWER)


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
