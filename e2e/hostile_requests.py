"""Requests that try to get what they should not: each with the answer that docs/keys.md promises.

The gateway has the plan ``llama`` (alice on pod-0, bob on pod-1) and the plan ``qwen`` (carol on pod-2, its only
destination). Keys come from the claim ``tenant`` of a verified token, the header x-tenant-id, the cookie tenant, and
the body's members user and metadata.user_id, in this order; the longest key has 64 characters.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass

from cacheroute.domain.keys import canonical_key
from e2e.identities import Issuer, unsigned

CORP = Issuer("https://corp.example")
STRANGER = Issuer("https://corp.example")
"""Says that it is CORP and has another key."""
CLOSED = 0
"""The connection is closed without an answer."""
COMPLETION = "POST /v1/completions HTTP/1.1"
MAX_LENGTH = 64
BODY_LIMIT = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of a request.

    Attributes:
        status: of the answer.
        destination: who must answer; empty where any destination of the plan may.
        decision: what the gateway must say of it; empty where it answers itself.
        key: the label it must be counted under; None where it is not counted.
    """

    status: int = 200
    destination: str = ""
    decision: str = ""
    key: str | None = None


ALICE = Expected(200, "pod-0", "planned", "alice")
BOB = Expected(200, "pod-1", "planned", "bob")
CAROL = Expected(200, "pod-2", "planned", "carol")
NO_KEY = Expected(200, "", "cold", "")
REJECTED = Expected(200, "", "cold", "!")
OTHER_PLAN = Expected(200, "pod-2", "cold", "alice")
NO_MODEL = Expected(400)
UNKNOWN_MODEL = Expected(404)


def cold(key: str) -> Expected:
    """Return the answer to a key that is fine and not planned."""
    return Expected(200, "", "cold", key)


def refused(status: int) -> Expected:
    """Return an answer of the gateway itself."""
    return Expected(status)


def request(
    body: bytes | str,
    *headers: str | bytes,
    line: str = COMPLETION,
    length: int | None = None,
) -> bytes:
    """Return a request with this body, a Content-Length (or none where ``length`` is negative) and these headers."""
    content = body.encode() if isinstance(body, str) else body
    sizes = (
        []
        if length is not None and length < 0
        else [f"Content-Length: {len(content) if length is None else length}"]
    )
    head = [line, "Host: gateway.example", "Connection: close", *sizes, *headers]
    return b"\r\n".join(one.encode() if isinstance(one, str) else one for one in head) + b"\r\n\r\n" + content


def named(*headers: str | bytes, user: object = None, model: str = "llama", line: str = COMPLETION) -> bytes:
    """Return a request of the model, with these headers and, where given, this user."""
    return request(
        json.dumps({"model": model} | ({} if user is None else {"user": user})), *headers, line=line
    )


def chunked(body: str, *headers: str | bytes, trailers: str = "") -> bytes:
    """Return a request whose body comes in chunks of 7 bytes."""
    pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
    content = "".join(f"{len(piece):x}\r\n{piece}\r\n" for piece in pieces) + f"0\r\n{trailers}\r\n"
    return request(content, "Transfer-Encoding: chunked", *headers, length=-1)


def token(text: str) -> str:
    """Return the header that carries a token."""
    return f"Authorization: Bearer {text}"


def method(name: str) -> bytes:
    """Return alice's request with another method."""
    return named(user="alice", line=f"{name} /v1/completions HTTP/1.1")


def path(text: str) -> bytes:
    """Return alice's request with another path."""
    return named(user="alice", line=f"POST {text} HTTP/1.1")


_ALICE = '{"model":"llama","user":"alice"}'
_BOMB = gzip.compress(b'{"model":"llama","user":"alice"}')
_DEEP = '{"model":"llama","x":' + '{"x":' * 50_000 + "1" + "}" * 50_000 + ',"user":"alice"}'
_SPOOF = "p/inference/llama/bob"

BODIES: dict[str, tuple[bytes, Expected]] = {
    "user": (request(_ALICE), ALICE),
    "a member twice: the last one counts": (request('{"model":"llama","user":"alice","user":"bob"}'), BOB),
    "a member twice, the last one null": (request('{"model":"llama","user":"alice","user":null}'), NO_KEY),
    "model twice": (request('{"model":"qwen","model":"llama","user":"alice"}'), ALICE),
    "user is a list": (named(user=["alice"]), NO_KEY),
    "user is an object": (named(user={"user": "alice"}), NO_KEY),
    "user is a number": (named(user=7), NO_KEY),
    "user is true": (named(user=True), NO_KEY),
    "user is null": (request('{"model":"llama","user":null}'), NO_KEY),
    "user is empty": (named(user=""), NO_KEY),
    "user is in a string": (request('{"model":"llama","prompt":"\\"user\\":\\"alice\\""}'), NO_KEY),
    "user is in a list": (request('{"model":"llama","messages":[{"user":"alice"}]}'), NO_KEY),
    "user is deeper": (request('{"model":"llama","x":{"user":"alice"}}'), NO_KEY),
    "User is another member": (request('{"model":"llama","User":"alice"}'), NO_KEY),
    "the path as a name": (request('{"model":"llama","metadata.user_id":"alice"}'), NO_KEY),
    "the path": (request('{"model":"llama","metadata":{"user_id":"alice"}}'), ALICE),
    "the path ends early": (request('{"model":"llama","metadata":"alice"}'), NO_KEY),
    "an object twice": (request('{"model":"llama","metadata":{"user_id":"alice"},"metadata":{}}'), NO_KEY),
    "escapes": (request('{"model":"llama","\\u0075ser":"\\u0061lice"}'), ALICE),
    "a value of 1 MB": (named(user="a" * 1_000_000), REJECTED),
    "a name of 1 MB": (request('{"model":"llama","' + "a" * 1_000_000 + '":1,"user":"alice"}'), ALICE),
    "a model of 1 MB": (named(model="a" * 1_000_000), UNKNOWN_MODEL),
    "50,000 levels": (request(_DEEP), ALICE),
    "one million brackets": (request('{"model":"llama","x":' + "[" * 2_000_000), NO_MODEL),
    "key of 64": (named(user="a" * 64), cold("a" * 64)),
    "key of 65": (named(user="a" * 65), REJECTED),
    "invalid UTF-8 in the key": (request(b'{"model":"llama","user":"alice\xff"}'), REJECTED),
    "invalid UTF-8 elsewhere": (request(b'{"model":"llama","prompt":"\xff\xc0","user":"alice"}'), ALICE),
    "overlong UTF-8": (request(b'{"model":"llama","user":"\xc1\xa1lice"}'), REJECTED),
    "byte order mark": (request(b"\xef\xbb\xbf" + _ALICE.encode()), NO_MODEL),
    "UTF-16": (request(_ALICE.encode("utf-16-le")), NO_MODEL),
    "no JSON": (request("model=llama&user=alice"), NO_MODEL),
    "a list": (request(f"[{_ALICE}]"), NO_MODEL),
    "no body": (request(""), NO_MODEL),
    "half a document": (request(_ALICE[:-1]), NO_MODEL),
    "another content type": (request(_ALICE, "Content-Type: text/plain"), ALICE),
    "a form's content type": (request(_ALICE, "Content-Type: multipart/form-data; boundary=x"), ALICE),
    "gzip": (request(_BOMB, "Content-Encoding: gzip"), NO_MODEL),
    "said to be gzip": (request(_ALICE, "Content-Encoding: gzip"), ALICE),
    "over the limit": (named(user="a" * BODY_LIMIT), refused(413)),
    "over the limit in chunks": (
        chunked('{"model":"llama","user":"' + "a" * BODY_LIMIT + '"}'),
        refused(413),
    ),
}
FRAMING: dict[str, tuple[bytes, Expected]] = {
    "chunks": (chunked(_ALICE), ALICE),
    "a key in a trailer": (chunked(_ALICE, trailers="x-tenant-id: bob\r\nx-cacheroute-key: x\r\n"), ALICE),
    "length and chunks": (request(chunked(_ALICE), "Transfer-Encoding: chunked"), refused(400)),
    "two lengths": (request(_ALICE, "Content-Length: 1"), refused(400)),
    "odd transfer encoding": (request("0\r\n\r\n", "Transfer-Encoding: xchunked", length=-1), refused(501)),
    "chunked twice": (request("0\r\n\r\n", "Transfer-Encoding: chunked, chunked", length=-1), refused(501)),
    "negative length": (request(_ALICE, "Content-Length: -1", length=-1), refused(400)),
    "a length that is too long": (request(_ALICE, length=100), refused(CLOSED)),
    "a length that is too short": (request(_ALICE, length=10), NO_MODEL),
    "an odd chunk": (request("zz\r\nx\r\n", "Transfer-Encoding: chunked", length=-1), refused(400)),
    "HTTP/1.0": (named(user="alice", line="POST /v1/completions HTTP/1.0"), refused(426)),
    "HTTP/9": (named(user="alice", line="POST /v1/completions HTTP/9.9"), refused(426)),
    "two hosts": (named("Host: other.example", user="alice"), ALICE),
    "expect": (named("Expect: 100-continue", user="alice"), ALICE),
    "web socket": (named("Upgrade: websocket", "Connection: upgrade", user="alice"), refused(403)),
}
HEADERS: dict[str, tuple[bytes, Expected]] = {
    "header before body": (named("X-TENANT-ID: ALICE", user="bob"), ALICE),
    "two values": (named("x-tenant-id: alice", "x-tenant-id: bob"), REJECTED),
    "two equal values": (named("x-tenant-id: alice", "X-Tenant-Id: alice"), REJECTED),
    "a list of values": (named("x-tenant-id: alice, bob"), REJECTED),
    "empty": (named("x-tenant-id:", user="alice"), ALICE),
    "blanks around": (named("x-tenant-id: \t alice \t "), ALICE),
    "a blank inside": (named("x-tenant-id: ali ce"), REJECTED),
    "star": (named("x-tenant-id: *"), REJECTED),
    "star behind": (named("x-tenant-id: ali*"), REJECTED),
    "the cold key": (named("x-tenant-id: !"), REJECTED),
    "percent": (named("x-tenant-id: %61lice"), REJECTED),
    "Kelvin sign": (named(b"x-tenant-id: \xe2\x84\xaa"), REJECTED),
    "Kelvin sign in the body": (named(user="\N{KELVIN SIGN}"), REJECTED),
    "long s in the body": (named(user="\N{LATIN SMALL LETTER LONG S}hared"), REJECTED),
    "dotless i": (named(user="al\N{LATIN SMALL LETTER DOTLESS I}ce"), REJECTED),
    "full width": (named(user="\N{FULLWIDTH LATIN SMALL LETTER A}lice"), REJECTED),
    "surrogates": (request('{"model":"llama","user":"\\ud83d\\ude00"}'), REJECTED),
    "NUL in the body": (named(user="alice\0"), REJECTED),
    "line feed in the body": (named(user="alice\n"), REJECTED),
    "NUL": (named(b"x-tenant-id: alice\0"), refused(400)),
    "carriage return, which Envoy drops": (named(b"x-tenant-id: alice\rx"), cold("alicex")),
    "line feed": (named(b"x-tenant-id: alice\nx-cacheroute-key: x", user="bob"), ALICE),
    "folded": (named("x-tenant-id: alice\r\n bob"), REJECTED),
    "underscores": (named("x_tenant_id: bob", user="alice"), ALICE),
    "50 KB": (named("x-tenant-id: " + "a" * 50_000), REJECTED),
    "70 KB": (named("x-tenant-id: " + "a" * 70_000), refused(431)),
    "101 headers": (named(*(f"x-{number}: 1" for number in range(101)), user="alice"), refused(431)),
    "our header": (named(f"x-cacheroute-key: {_SPOOF}", user="alice"), ALICE),
    "our header in capitals": (named(f"X-CACHEROUTE-KEY: {_SPOOF}", user="alice"), ALICE),
    "our header twice": (named(*[f"x-cacheroute-key: {_SPOOF}"] * 2, user="alice"), ALICE),
    "our header with underscores": (named(f"x_cacheroute_key: {_SPOOF}", user="alice"), ALICE),
    "our header alone": (named(f"x-cacheroute-key: {_SPOOF}"), NO_KEY),
    "our header of another plan": (named("x-cacheroute-key: p/inference/qwen/carol"), NO_KEY),
    "our answer's headers": (named("x-cacheroute-destination: pod-1", user="alice"), ALICE),
    "an odd host": (named("Host: p/inference/llama/bob", user="alice"), refused(400)),
    "Envoy's time limit": (named("x-envoy-upstream-rq-timeout-ms: 1", user="alice"), ALICE),
    "cookie": (named("Cookie: a=b; tenant=alice", user="bob"), ALICE),
    "two cookies: the first one counts": (named("Cookie: tenant=alice; tenant=bob"), ALICE),
    "two cookie headers": (named("Cookie: tenant=alice", "Cookie: tenant=bob"), ALICE),
    "cookie in capitals is another one": (named("Cookie: TENANT=bob", user="alice"), ALICE),
    "cookie with a star": (named("Cookie: tenant=*", user="alice"), REJECTED),
    "cookie without an end": (named("Cookie: " + "tenant" * 5000, user="alice"), ALICE),
}
PLANS: dict[str, tuple[bytes, Expected]] = {
    "another plan's virtual host": (named(user="p/inference/qwen/carol"), cold("p/inference/qwen/carol")),
    "another model's entry": (named(user="m/qwen"), cold("m/qwen")),
    "steps up": (named(user="../qwen/carol"), cold("../qwen/carol")),
    "carol with her model": (named(user="carol", model="qwen"), CAROL),
    "carol with another model": (named(user="carol"), cold("carol")),
    "alice with another model": (named(user="alice", model="qwen"), OTHER_PLAN),
    "a virtual host as model": (named(user="bob", model="p/inference/llama/bob"), UNKNOWN_MODEL),
    "an entry as model": (named(user="bob", model="m/llama"), UNKNOWN_MODEL),
    "a path as model": (named(user="bob", model="llama/../qwen"), UNKNOWN_MODEL),
    "any model": (named(user="bob", model="*"), UNKNOWN_MODEL),
    "no model by name": (named(user="bob", model="none"), UNKNOWN_MODEL),
    "the cold model": (named(user="bob", model="!"), UNKNOWN_MODEL),
    "a model in capitals": (named(user="alice", model="LLAMA"), ALICE),
    "a model with a Kelvin sign": (named(user="alice", model="\N{KELVIN SIGN}"), UNKNOWN_MODEL),
}
TOKENS: dict[str, tuple[bytes, Expected]] = {
    "a verified token comes first": (
        named(token(CORP.token(tenant="alice")), "x-tenant-id: bob", "Cookie: tenant=bob", user="bob"),
        ALICE,
    ),
    "another key": (named(token(STRANGER.token(tenant="alice")), user="bob"), BOB),
    "expired": (named(token(CORP.token(tenant="alice", exp=1_000_000_000)), user="bob"), BOB),
    "never expires": (named(token(CORP.token(tenant="alice", exp=None)), user="bob"), BOB),
    "not yet": (named(token(CORP.token(tenant="alice", nbf=4_000_000_000)), user="bob"), BOB),
    "alg none": (named(token(unsigned(iss=CORP.name, tenant="alice")), user="bob"), BOB),
    "another issuer": (named(token(Issuer("https://evil.example").token(tenant="alice")), user="bob"), BOB),
    "two tokens": (
        named(token(CORP.token(tenant="alice")), token(CORP.token(tenant="bob")), user="bob"),
        BOB,
    ),
    "a claim that is a star": (named(token(CORP.token(tenant="*")), user="bob"), REJECTED),
    "a token in the URL": (
        named(user="bob", line=f"POST /v1/completions?access_token={CORP.token(tenant='alice')} HTTP/1.1"),
        BOB,
    ),
    "no token": (named("Authorization: Basic alice", user="bob"), BOB),
}
PATHS: dict[str, tuple[bytes, Expected]] = {
    "/v1/chat/completions": (path("/v1/chat/completions"), ALICE),
    "/v1/responses": (path("/v1/responses"), ALICE),
    "/v1/embeddings": (path("/v1/embeddings"), ALICE),
    "/v1/messages": (path("/v1/messages"), ALICE),
    "a query": (path("/v1/messages?beta=true"), ALICE),
    "/tokenize": (path("/tokenize"), NO_KEY),
    "/v1/messages/count_tokens": (path("/v1/messages/count_tokens"), NO_KEY),
    "models": (request("", line="GET /v1/models HTTP/1.1"), Expected(200, "", "cold", None)),
    "health names no model": (request("", line="GET /health HTTP/1.1"), NO_MODEL),
    "absolute form": (path("http://other.example/v1/completions"), ALICE),
    "steps": (path("/tokenize/../v1/./completions"), ALICE),
    "escaped steps": (path("/x/%2e%2e/v1/completions"), ALICE),
    "slashes": (path("//v1///completions"), ALICE),
    "steps out": (path("/../../v1/completions"), ALICE),
    "steps to another path": (path("/v1/completions/../../tokenize"), NO_KEY),
    "an escaped slash": (path("/v1%2fcompletions"), NO_KEY),
    "capitals": (path("/V1/COMPLETIONS"), NO_KEY),
    "a fragment": (path("/v1/completions#x"), refused(400)),
    "a NUL": (path("/v1/completions%00"), refused(400)),
    "no slash": (path("v1/completions"), refused(400)),
    "PUT": (method("PUT"), ALICE),
    "DELETE": (method("DELETE"), ALICE),
    "GET": (method("GET"), ALICE),
    "an unknown method": (method("ALICE"), refused(400)),
    "CONNECT": (request("", line="CONNECT pod-1:8000 HTTP/1.1"), refused(404)),
}
RAW_KEYS = (
    *(
        "Alice",
        "ALICE",
        "alice ",
        "a b",
        "*",
        "a*",
        "*a",
        "**",
        "!",
        "%61lice",
        "%",
        "alice,bob",
        "alice;bob",
        "'a'",
        '"alice"',
    ),
    *(
        "\\",
        "{}",
        "[a]",
        "<a>",
        "a?b",
        "a#b",
        "a&b",
        "a$b",
        "`",
        "^",
        "(a)",
        "_",
        "._:@/+=~|-",
        "..",
        "alice.",
        ".alice",
        "/",
        "//",
        "a" * 64,
        "A" * 64,
    ),
    *(
        "a" * 65,
        "p/inference/llama/bob",
        "p/inference/qwen/*",
        "m/*",
        "none",
        "all",
        "s0",
        "urn:uuid:ABC",
        "user@Example.com",
    ),
    *(
        "alice\t",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\x7fb",
        "ſ",
        "\N{KELVIN SIGN}",
        "\u0130",
        "\u0131",
        "é",
        "ß",
        "a\u0301",
        "\N{FULLWIDTH LATIN CAPITAL LETTER A}",
        "日本",
        "\U0001f600",
    ),
)
"""Values that may or may not be keys; Envoy's answer must be what domain.keys says of them."""


def spelled(raw: str) -> Expected:
    """Return what must come of a key, by the rules of the planner."""
    key = canonical_key(raw, MAX_LENGTH)
    if key is None:
        return REJECTED
    return {"alice": ALICE, "bob": BOB}.get(key, cold(key))


def _spellings(raw: str) -> Iterator[tuple[str, tuple[bytes, Expected]]]:
    """Yield a key in the body, in the body without escapes, and in a header where it can stand there as it is."""
    yield f"{raw!a} in JSON", (named(user=raw), spelled(raw))
    plain = json.dumps({"model": "llama", "user": raw}, ensure_ascii=False)
    yield f"{raw!a} in UTF-8", (request(plain), spelled(raw))
    if raw.isprintable() and raw.strip() == raw:
        yield f"{raw!a} in a header", (named(b"x-tenant-id: " + raw.encode()), spelled(raw))


SPELLING = {case: row for raw in RAW_KEYS for case, row in _spellings(raw)}
HOSTILE = {
    f"{group}: {case}": row
    for group, rows in {
        "body": BODIES,
        "framing": FRAMING,
        "header": HEADERS,
        "plan": PLANS,
        "token": TOKENS,
        "path": PATHS,
        "spelling": SPELLING,
    }.items()
    for case, row in rows.items()
}
