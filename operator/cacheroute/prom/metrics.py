"""Our own metrics; `python -m cacheroute.prom.metrics` prints their reference page."""

import sys

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from cacheroute.domain.conditions import ConditionStatus
from cacheroute.domain.decision import Decision
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.observation import Event
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason
from cacheroute.domain.spec import PlanRef
from cacheroute.prom.arm_metrics import ArmMetrics

STEP_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Seconds."""
_STATES = {ConditionStatus.TRUE: 1, ConditionStatus.FALSE: 0, ConditionStatus.UNKNOWN: -1}


class Metrics:
    """Counts what the loop does; implements ``Observer``."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._known: set[PlanRef] = set()
        self._versions: dict[str, str] = {}
        self._plans = Gauge(
            "cacheroute_operator_plans", "RoutingPlans that are worked on.", registry=registry
        )
        self._keys = Gauge(
            "cacheroute_operator_keys",
            "Keys of a plan: known or admitted.",
            ["plan", "kind"],
            registry=registry,
        )
        self._imbalance = Gauge(
            "cacheroute_operator_imbalance",
            "Highest load over the mean that the plan in force expects.",
            ["plan"],
            registry=registry,
        )
        self._single_loss = Gauge(
            "cacheroute_operator_single_loss_imbalance",
            "Highest load over the mean after the loss of the one destination where that is worst.",
            ["plan"],
            registry=registry,
        )
        self._coverage = Gauge(
            "cacheroute_operator_coverage_ratio",
            "Share of the request rate that belongs to admitted keys.",
            ["plan"],
            registry=registry,
        )
        self._predicted = Gauge(
            "cacheroute_operator_predicted_hit_ratio",
            "Share of requests that a model of the caches expects to find their prefix: flat or planned routing.",
            ["plan", "routing"],
            registry=registry,
        )
        self._conditions = Gauge(
            "cacheroute_operator_condition",
            "Conditions of a RoutingPlan: 1 for True, 0 for False, -1 for Unknown.",
            ["plan", "type"],
            registry=registry,
        )
        self._arms = ArmMetrics(registry)
        self._decisions = Counter(
            "cacheroute_operator_decisions",
            "Decisions by outcome and reason.",
            ["plan", "outcome", "reason"],
            registry=registry,
        )
        self._moved = Counter(
            "cacheroute_operator_moved_keys", "Keys whose destinations changed.", ["plan"], registry=registry
        )
        self._rates = Counter(
            "cacheroute_operator_rates",
            "Measurements of the per-key rates by their reason.",
            ["plan", "reason"],
            registry=registry,
        )
        self._step_seconds = Histogram(
            "cacheroute_operator_reconcile_seconds",
            "Time of one decision by its event: Interval (a new plan) or Changed (a repair or a report).",
            ["event"],
            registry=registry,
            buckets=STEP_BUCKETS,
        )
        self._snapshots = Counter(
            "cacheroute_operator_snapshots",
            "New versions of the configuration that a gateway's proxies are given.",
            ["gateway"],
            registry=registry,
        )
        self._watch_restarts = Counter(
            "cacheroute_operator_watch_restarts",
            "Times that watching the cluster was started again.",
            registry=registry,
        )
        self._store_errors = Counter(
            "cacheroute_operator_store_errors",
            "Failures by operation: load or save of a plan, status, notice.",
            ["operation"],
            registry=registry,
        )
        self._proxies = Gauge(
            "cacheroute_operator_proxies",
            "Proxies of a gateway: connected, synced or rejecting.",
            ["gateway", "state"],
            registry=registry,
        )

        self._refusals = Counter(
            "cacheroute_operator_refused_streams",
            "Streams of proxies that were not let in or were ended, by reason: handshake, identity, limit, garbage, "
            "subscriptions, silent (asks nothing) or stuck (answers nothing).",
            ["reason"],
            registry=registry,
        )

    def proxy_refused(self, reason: str) -> None:
        """Note a stream that the ADS server ended."""
        self._refusals.labels(reason).inc()

    def decided(self, ref: PlanRef, decision: Decision) -> None:
        """Note a decision."""
        plan = str(ref)
        self._known.add(ref)
        self._plans.set(len(self._known))
        self._decisions.labels(plan, decision.outcome, decision.reason).inc()
        self._moved.labels(plan).inc(decision.moved.keys)
        for condition in decision.conditions:
            self._conditions.labels(plan, condition.type).set(_STATES[condition.status])
        if decision.plan is not None:
            summary = decision.plan.summary
            self._keys.labels(plan, "known").set(summary.keys_known)
            self._keys.labels(plan, "admitted").set(summary.keys_admitted)
            self._imbalance.labels(plan).set(summary.imbalance)
            self._single_loss.labels(plan).set(summary.single_loss)
            self._coverage.labels(plan).set(summary.coverage)
            self._predicted.labels(plan, "flat").set(summary.flat_hit)
            self._predicted.labels(plan, "planned").set(summary.planned_hit)

    def measured(self, ref: PlanRef, rates: RatesOutcome) -> None:
        """Note the outcome of a measurement."""
        reason = RatesReason.MEASURED if isinstance(rates, Rates) else rates.reason
        self._rates.labels(str(ref), reason).inc()
        self._arms.measured(str(ref), rates)

    def reconciled(self, event: Event, seconds: float) -> None:
        """Note how long one pure step took, seconds; called in any thread."""
        self._step_seconds.labels(event).observe(seconds)

    def published(self, gateway: str, version: str) -> None:
        """Note the version of the snapshot that a gateway is given; the same one again is no news."""
        if self._versions.get(gateway) != version:
            self._versions[gateway] = version
            self._snapshots.labels(gateway).inc()

    def store_failed(self, operation: str) -> None:
        """Note that the store or the reporter could not do something."""
        self._store_errors.labels(operation).inc()

    def watch_restarted(self) -> None:
        """Note that watching the cluster was started again."""
        self._watch_restarts.inc()

    def gateway(self, gateway: str, status: GatewayStatus) -> None:
        """Note what is known of a gateway's proxies."""
        self._proxies.labels(gateway, "connected").set(status.connected)
        self._proxies.labels(gateway, "synced").set(status.synced)
        self._proxies.labels(gateway, "rejecting").set(len(status.rejections))

    def forgotten(self, ref: PlanRef) -> None:
        """Drop the series of a deleted plan."""
        self._known.discard(ref)
        self._plans.set(len(self._known))
        for metric in (
            self._keys,
            self._imbalance,
            self._single_loss,
            self._coverage,
            self._predicted,
            self._conditions,
            *self._arms.all,
            self._decisions,
            self._moved,
            self._rates,
        ):
            metric.remove_by_labels({"plan": str(ref)})

    def exposition(self) -> bytes:
        """Return the Prometheus text exposition."""
        return generate_latest(self._registry)

    def reference(self) -> str:
        """Return the reference page in Markdown."""
        own = [value for value in vars(self).values() if isinstance(value, MetricWrapperBase)]
        metrics = [*own, *self._arms.all]
        rows = [row for metric in metrics for row in _rows(metric)]
        return "\n".join(
            ("# Metrics of the operator", "", "| name | type | help |", "|---|---|---|", *rows, "")
        )


def _rows(metric: MetricWrapperBase) -> list[str]:
    return [
        f"| `{family.name}{'_total' if family.type == 'counter' else ''}` | {family.type} | {family.documentation} |"
        for family in metric.describe()
    ]


if __name__ == "__main__":
    sys.stdout.write(Metrics().reference())
