"""One proxy tries a changed route table before the others see it: a pure state machine for one gateway.

Only clusters and routes wait. Endpoints never do: a loss or a repair reaches everybody at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from cacheroute.proxy.snapshot import ALL_NAMES, CLUSTERS, ENDPOINTS, ROUTES, Resource, Snapshot

CANARY_SECONDS = 2.0
"""So long the others wait at most for the canary: it may be slow, stuck or gone."""
TRIED = (CLUSTERS, ROUTES)

ProxyId = tuple[str, int]
"""Node id, and the number of the connection: node ids may be given twice."""


class _Phase(Enum):
    OPEN = auto()  # everybody is offered the target
    TRIAL = auto()  # only the canary is
    FAILED = auto()  # nobody is: a proxy rejected it


@dataclass(slots=True)
class Rollout:
    """Who is offered the newest snapshot, and what the others keep.

    The canary is the connected proxy with the lowest id, and stays it while a trial goes on. The target is accepted
    when any proxy has acknowledged its clusters and routes; it is offered to everybody also when the canary has not
    answered for CANARY_SECONDS. A target that a proxy rejects is offered to nobody any more.

    Attributes:
        revision: grows whenever what any proxy is offered may have changed.
    """

    revision: int = 0
    _target: Snapshot | None = None
    _accepted: tuple[Snapshot, ...] = ()
    _phase: _Phase = _Phase.OPEN
    _canary: ProxyId | None = None
    _deadline: float | None = None

    def published(self, target: Snapshot, now: float) -> None:
        """Take a new snapshot; one that differs in endpoints only changes nothing about who tries what."""
        before, self._target = self._target, target
        self.revision += 1
        if self._accepted and _same(self._accepted[0], target):
            self._accepted = (target, *self._accepted[1:])
            self._open()
        elif before is None or not _same(before, target):
            self._phase = _Phase.TRIAL
            if self._canary is not None and self._deadline is None:
                self._deadline = now + CANARY_SECONDS

    def step(self, proxies: Iterable[ProxyId], now: float) -> None:
        """Choose the canary among the connected proxies, and stop waiting for it when its time is over."""
        if self._phase is not _Phase.TRIAL:
            return
        connected = frozenset(proxies)
        if self._canary not in connected:
            self._canary = min(connected, default=None)
            self.revision += 1
        if self._canary is None:
            self._deadline = None
        elif self._deadline is None:
            self._deadline = now + CANARY_SECONDS
        elif now >= self._deadline:
            self._open()

    def accepted(self) -> None:
        """A proxy has acknowledged the clusters and routes of the target."""
        if self._target is None or self._phase is _Phase.FAILED or self.proven:
            return
        self._accepted = (self._target, *self._accepted[:1])
        self._open()

    def rejected(self, kind: str, resources: Iterable[Resource]) -> None:
        """A proxy has rejected these; it counts where they are in the target."""
        target = self._target
        if target is None or kind not in TRIED:
            return
        if not any(target.of(kind).get(one.name) == one for one in resources):
            return
        if self._accepted and _same(self._accepted[0], target):
            self._accepted = self._accepted[1:]
        self._phase, self._deadline = _Phase.FAILED, None
        self.revision += 1

    def view(self, proxy: ProxyId) -> Snapshot | None:
        """Return what a proxy shall have; None before the first snapshot."""
        if self._target is None or not self.holds(proxy):
            return self._target
        return _held(self._accepted[0] if self._accepted else None, self._target)

    def holds(self, proxy: ProxyId) -> bool:
        """Whether a proxy is not offered the target's clusters and routes."""
        if self._phase is _Phase.FAILED:
            return bool(self._accepted)
        return self._phase is _Phase.TRIAL and proxy != self._canary

    @property
    def target(self) -> Snapshot | None:
        """The newest snapshot."""
        return self._target

    @property
    def deadline(self) -> float | None:
        """When ``step`` has to be called, if nothing happens before."""
        return self._deadline if self._phase is _Phase.TRIAL else None

    @property
    def canary(self) -> str:
        """Node id of the proxy that tries the target now; empty where none does."""
        return self._canary[0] if self._phase is _Phase.TRIAL and self._canary else ""

    @property
    def proven(self) -> bool:
        """Whether a proxy has acknowledged the target."""
        return bool(self._accepted) and self._target is not None and _same(self._accepted[0], self._target)

    def _open(self) -> None:
        self._phase, self._deadline, self._canary = _Phase.OPEN, None, None
        self.revision += 1


def _same(one: Snapshot, other: Snapshot) -> bool:
    return all(_versions(one.of(kind)) == _versions(other.of(kind)) for kind in TRIED)


def _versions(resources: Mapping[str, Resource]) -> dict[str, str]:
    return {name: one.version for name, one in resources.items()}


def _held(accepted: Snapshot | None, target: Snapshot) -> Snapshot:
    """Return accepted clusters and routes with the newest endpoints; where none are known nothing is taken away."""
    if accepted is None:
        resources = {**target.resources, **{kind: {} for kind in TRIED}}
        everything = frozenset((kind, ALL_NAMES) for kind in (*TRIED, ENDPOINTS))
        return Snapshot(target.version, resources, everything)
    kept = {kind: accepted.of(kind) for kind in TRIED}
    endpoints = {**accepted.of(ENDPOINTS), **target.of(ENDPOINTS)}
    return Snapshot(target.version, {**target.resources, **kept, ENDPOINTS: endpoints})
