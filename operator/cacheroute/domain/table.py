"""The routing table: what the gateway is told of one plan, without a word of Envoy."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cacheroute.domain.failover import FailoverSpec, LimitsSpec
from cacheroute.domain.fleet import Destination, DestinationState, Fleet
from cacheroute.domain.keys import KeySource, canonical_model
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef, PlanSpec


class Choice(enum.StrEnum):
    """How a request was given its destination (header x-cacheroute-decision, label decision)."""

    PLANNED = "planned"
    STANDBY = "standby"
    COLD = "cold"


class Arm(enum.StrEnum):
    """Which half of the comparison a request of an admitted key belongs to (label arm); other requests have none."""

    PLAN = "plan"
    """It was routed by plan."""
    FLAT = "flat"
    """It was routed by power of two choices, because the mode is Shadow, or Canary and its lot fell so."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A destination as the gateway sees it.

    Attributes:
        name: of the destination.
        address: IP address.
        port: TCP port.
        draining: it finishes what it has and takes nothing new.
        seat: index of the seat it fills; None where it serves cold traffic only.
    """

    name: str
    address: str
    port: int
    draining: bool
    seat: int | None


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Keys that share one choice: the seats of T(b), then the standbys, then the whole fleet."""

    seats: tuple[int, ...]
    standbys: tuple[int, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """Everything the gateway needs to serve one RoutingPlan.

    Attributes:
        ref: the RoutingPlan.
        version: of the plan; empty where there is none yet.
        models: canonical model names, bytewise order; ``*`` for any.
        key_sources: in order of preference.
        max_key_length: characters.
        endpoints: sorted by name; lost destinations are not here.
        groups: as in the plan; empty before the first plan.
        planned_percent: share of each group's requests that goes by plan, percent; the rest is routed like cold keys.
        explain: whether answers name their destination, decision and plan.
        failover: what happens when a destination fails.
        limits: what a proxy may have open to the destinations.
    """

    ref: PlanRef
    version: str
    models: tuple[str, ...]
    key_sources: tuple[KeySource, ...]
    max_key_length: int
    endpoints: tuple[Endpoint, ...]
    groups: tuple[TableGroup, ...]
    planned_percent: int = 100
    explain: bool = True
    failover: FailoverSpec = FailoverSpec()
    limits: LimitsSpec = LimitsSpec()

    def planned(self, group: TableGroup) -> tuple[str, ...]:
        """Return the names of the destinations that fill the seats of ``group``, sorted."""
        return tuple(one.name for one in self.endpoints if one.seat in group.seats)


def routing_table(spec: PlanSpec, plan: Plan | None, fleet: Fleet) -> RoutingTable:
    """Compile the plan in force and the observed destinations into the gateway's table."""
    seats = {name: seat.index for name, seat in plan.by_destination().items()} if plan else {}
    return RoutingTable(
        ref=spec.ref,
        version=plan.version if plan else "",
        models=tuple(sorted({canonical_model(model) for model in spec.models})),
        key_sources=spec.key_sources,
        max_key_length=spec.max_key_length,
        endpoints=tuple(
            _endpoint(one, seats.get(one.name))
            for one in fleet.destinations
            if one.state is not DestinationState.LOST
        ),
        groups=tuple(TableGroup(one.seats, one.standbys, one.keys) for one in plan.groups) if plan else (),
        planned_percent=spec.planned_percent,
        explain=spec.explain_headers,
        failover=spec.failover,
        limits=spec.limits,
    )


def farewell_table(table: RoutingTable, living: Iterable[RoutingTable]) -> RoutingTable:
    """Return the table of a deleted plan: all keys cold, and no model that a plan in force has claimed since.

    Its cluster stays, so that running streams end by themselves.
    """
    claimed = {model for one in living for model in one.models}
    return replace(table, groups=(), models=tuple(model for model in table.models if model not in claimed))


def _endpoint(destination: Destination, seat: int | None) -> Endpoint:
    draining = destination.state is DestinationState.DRAINING
    return Endpoint(
        name=destination.name,
        address=destination.address,
        port=destination.port,
        draining=draining,
        seat=None if draining else seat,
    )
