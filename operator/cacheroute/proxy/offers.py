"""What each proxy of one gateway is offered: the newest snapshot, with the canary's trial and parked versions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cacheroute.domain.gateways import Rejection
from cacheroute.proxy.parking import Parking
from cacheroute.proxy.rollout import ProxyId, Rollout
from cacheroute.proxy.route_history import RouteHistory
from cacheroute.proxy.snapshot import ENDPOINTS, Resource, Snapshot


@dataclass(frozen=True, slots=True)
class Offer:
    """What one proxy is offered.

    Attributes:
        snapshot: without the proxy's own listener.
        between: endpoints by name for as long as the proxy changes routes.
        newest: whether it is the newest configuration.
    """

    snapshot: Snapshot
    between: Mapping[str, Resource]
    newest: bool


@dataclass(slots=True)
class Offers:
    """State of one gateway."""

    rollout: Rollout = field(default_factory=Rollout)
    parking: Parking = field(default_factory=Parking)
    history: RouteHistory = field(default_factory=RouteHistory)
    _between: Mapping[str, Resource] = field(default_factory=dict)

    def published(self, snapshot: Snapshot, between: Mapping[str, Resource], now: float) -> None:
        """Take a new snapshot, and endpoints that suit also the routes that proxies have."""
        self._between = between
        self.parking.published(snapshot)
        self.rollout.published(snapshot, now)

    def rejected(self, kind: str, resources: Iterable[Resource], why: Rejection) -> None:
        """A proxy rejected these."""
        refused = tuple(resources)
        self.parking.rejected(kind, refused, why)
        self.rollout.rejected(kind, refused)
        self.rollout.revision += 1

    def of(self, proxy: ProxyId) -> Offer | None:
        """Return what a proxy is offered; None before the first snapshot.

        A proxy that is held keeps its routes, so its endpoints suit them for as long as it is.
        """
        view = self.rollout.view(proxy)
        if view is None:
            return None
        held = self.rollout.holds(proxy)
        if held and self._between:
            endpoints = {**view.of(ENDPOINTS), **self._between}
            view = Snapshot(view.version, {**view.resources, ENDPOINTS: endpoints}, view.withheld)
        return Offer(self.parking.offered(view), {} if held else self._between, newest=not held)
