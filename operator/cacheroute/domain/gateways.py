"""What is known of the proxies that serve a plan."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """A proxy that refused a resource, or is refused itself.

    Attributes:
        node: id of the proxy.
        reason: CamelCase, a condition's reason: ``Rejected``, ``UnsupportedVersion`` or ``InvalidSettings``.
        message: one short line.
    """

    node: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """The proxies of one gateway.

    Attributes:
        connected: proxies with an open stream.
        synced: those that acknowledged every resource of the current snapshot.
        rejections: those that refused something, sorted by node.
        providers: names of the token providers that each of them has.
    """

    connected: int = 0
    synced: int = 0
    rejections: tuple[Rejection, ...] = ()
    providers: frozenset[str] = frozenset()
