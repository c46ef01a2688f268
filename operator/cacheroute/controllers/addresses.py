"""Host and port as users write them."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server binds: host name or IP address, and a TCP port (0 = any free one)."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read ``host:port``, ``[v6]:port`` or ``:port`` (all interfaces).

    Raises:
        ValueError: it is none of these; the message says what is expected.
    """
    host, separator, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not separator or (":" in bare and host == bare):
        raise ValueError(f"{text!r} is no address; write HOST:PORT, for instance 127.0.0.1:18000")
    if not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f"{text!r}: the port must be a number from 0 to {MAX_PORT}")
    return Address(bare or "0.0.0.0", int(port))


def check_plain_text(xds: Address, *, allowed: bool) -> None:
    """Refuse to serve xDS in plain text where other machines can reach it.

    Raises:
        ValueError: they can, and that is not allowed.
    """
    if not (allowed or xds.is_loopback):
        raise ValueError(
            f"--xds-bind {xds}: xDS is plain text here and tells all keys to whoever asks: bind 127.0.0.1, or add "
            "--xds-insecure where the network is yours alone"
        )


def parse_urls(texts: Sequence[str]) -> tuple[str, ...]:
    """Read URLs of HTTP endpoints; one that is given twice is taken once, for its counters must not count twice.

    Raises:
        ValueError: one of them has no host or is not http or https.
    """
    for text in texts:
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{text!r} is no URL; write http://HOST:PORT/stats/prometheus")
    return tuple(dict.fromkeys(texts))
