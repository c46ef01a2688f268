"""Which resources a gateway's proxies rejected, and what is served instead: the last version that one accepted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cacheroute.domain.gateways import Rejection
from cacheroute.proxy.snapshot import Resource, Snapshot

_Name = tuple[str, str]
"""Type URL and name of a resource."""

_MOST_NODES = 100
"""Proxies named that rejected one version."""


@dataclass(slots=True)
class Parking:
    """State of one gateway.

    A version that a proxy rejects is parked for all: proxies that have a good one keep it, those that connect later
    get that one too. Where there never was a good one it is withheld. A new version of the resource is tried again.
    """

    _good: dict[_Name, tuple[Resource, ...]] = field(default_factory=dict)
    _parked: dict[_Name, tuple[str, dict[str, Rejection]]] = field(default_factory=dict)

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """Who rejected what is parked, one for each proxy, by its name."""
        by_node = {node: one for _, said in self._parked.values() for node, one in said.items()}
        return tuple(by_node[node] for node in sorted(by_node))

    def accepted(self, kind: str, resources: Iterable[Resource]) -> None:
        """Note what a proxy accepted; the version before is kept, in case another proxy rejects this one."""
        for one in resources:
            name = (kind, one.name)
            parked = self._parked.get(name)
            if parked is None or parked[0] != one.version:
                former = [other for other in self._good.get(name, ()) if other.version != one.version]
                self._good[name] = (one, *former[:1])

    def rejected(self, kind: str, resources: Iterable[Resource], why: Rejection) -> None:
        """Park what a proxy rejected: all of one response, because it does not say which resource it means."""
        for one in resources:
            name = (kind, one.name)
            version, said = self._parked.get(name, (one.version, {}))
            others = said if version == one.version else {}
            if len(others) < _MOST_NODES or why.node in others:
                others = {**others, why.node: why}
            self._parked[name] = (one.version, others)
            good = self._good.get(name, ())
            self._good[name] = tuple(other for other in good if other.version != one.version) or good

    def published(self, snapshot: Snapshot) -> None:
        """Forget what the new snapshot does not have."""
        self._good = {
            (kind, name): good for (kind, name), good in self._good.items() if name in snapshot.of(kind)
        }
        self._parked = {
            (kind, name): entry
            for (kind, name), entry in self._parked.items()
            if _has(snapshot.of(kind), name, entry[0])
        }

    def offered(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with parked resources replaced by their last good versions."""
        if not self._parked:
            return snapshot
        resources = {kind: dict(self._instead(kind, snapshot.of(kind))) for kind in snapshot.resources}
        missing = {
            (kind, name) for kind, some in resources.items() for name in snapshot.of(kind) if name not in some
        }
        return replace(snapshot, resources=resources, withheld=snapshot.withheld | missing)

    def _instead(self, kind: str, offered: Mapping[str, Resource]) -> Iterable[tuple[str, Resource]]:
        for name, one in offered.items():
            parked = self._parked.get((kind, name))
            if parked is None or parked[0] != one.version:
                yield name, one
            elif self._good.get((kind, name)):
                yield name, self._good[kind, name][0]


def _has(offered: Mapping[str, Resource], name: str, version: str) -> bool:
    return name in offered and offered[name].version == version
