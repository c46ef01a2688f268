"""What the loop needs from the outside; Kubernetes and standalone mode each bring their own."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cacheroute.domain.decision import Decision, Notice
from cacheroute.domain.fleet import Fleet
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import RatesOutcome
from cacheroute.domain.spec import InvalidSpec, PlanRef, PlanSpec
from cacheroute.domain.status import PlanStatus
from cacheroute.domain.table import RoutingTable


class World(Protocol):
    """What is observed now; cheap to ask."""

    def specs(self) -> Mapping[PlanRef, PlanSpec]:
        """Return every RoutingPlan that could be read."""

    def invalid(self) -> Mapping[PlanRef, InvalidSpec]:
        """Return every RoutingPlan whose newest spec cannot be read; ``specs`` may have its last good one."""

    def fleet(self, spec: PlanSpec) -> Fleet:
        """Return the destinations of a plan."""


class PlanStore(Protocol):
    """Where plans in force outlive the process."""

    async def load(self, ref: PlanRef) -> Plan | None:
        """Return the stored plan, None where there is none; raises StoreError where it cannot be read."""

    async def save(self, ref: PlanRef, plan: Plan) -> None:
        """Store the plan; the former one stays until the new one is complete; raises StoreError."""


class Reporter(Protocol):
    """Where users look."""

    async def write(self, ref: PlanRef, status: PlanStatus) -> None:
        """Report the status; raises StoreError where it cannot be written."""

    async def notify(self, ref: PlanRef, notice: Notice) -> None:
        """Tell something once; raises StoreError where it cannot be written."""


class ViewableReporter(Reporter, Protocol):
    """A reporter that also keeps what it reported for the HTTP endpoint."""

    @property
    def documents(self) -> Mapping[PlanRef, Mapping[str, Any]]:
        """The newest status documents."""


class Observer(Protocol):
    """Counts what the loop does."""

    def decided(self, ref: PlanRef, decision: Decision) -> None:
        """Note a decision."""

    def measured(self, ref: PlanRef, rates: RatesOutcome) -> None:
        """Note the outcome of a measurement."""

    def reconciled(self, event: Event, seconds: float) -> None:
        """Note how long one pure step took, seconds; called in any thread."""

    def published(self, gateway: str, version: str) -> None:
        """Note the version of the snapshot that a gateway is given."""

    def store_failed(self, operation: str) -> None:
        """Note that the store or the reporter could not do something."""

    def gateway(self, gateway: str, status: GatewayStatus) -> None:
        """Note what is known of a gateway's proxies."""

    def forgotten(self, ref: PlanRef) -> None:
        """Drop everything kept of a deleted plan."""


class RatesSource(Protocol):
    """Where per-key rates come from."""

    async def fetch(self, spec: PlanSpec, proxies: int) -> RatesOutcome:
        """Measure; never raises for anything that the source does. ``proxies`` is the number connected."""


class Publisher(Protocol):
    """The proxies' control plane."""

    def publish(self, gateway: str, tables: Sequence[RoutingTable]) -> str:
        """Serve these tables to the proxies of a gateway; returns the snapshot's version."""

    def gateways(self) -> frozenset[str]:
        """Return the gateways that have connected proxies."""

    def status(self, gateway: str) -> GatewayStatus:
        """Return what is known of the proxies of a gateway."""
