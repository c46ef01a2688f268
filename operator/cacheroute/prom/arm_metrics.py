"""Our own metrics of what was measured: both arms, and what of the keys was cut."""

from prometheus_client import CollectorRegistry, Gauge

from cacheroute.domain.arms import ArmFigures
from cacheroute.domain.rates import Rates, RatesOutcome


class ArmMetrics:
    """Gauges of the last measurement; a series goes where nothing is measured any more."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"cacheroute_operator_{name}", text, ["plan", *labels], registry=registry)

        self._requests = gauge(
            "arm_requests", "Requests of admitted keys over the window: plan or flat.", "arm"
        )
        self._hit = gauge("arm_hit_ratio", "Share of prompt tokens that came from the prefix cache.", "arm")
        self._errors = gauge("arm_error_ratio", "Share of requests that failed.", "arm")
        self._ttft = gauge("arm_ttft_seconds", "Time to first token of streamed answers.", "arm", "quantile")
        self._uncounted = gauge(
            "uncounted_rate", "Additions/s that the proxies dropped for want of counters."
        )
        self._cut = gauge("keys_cut", "1 where there were more keys than are planned for, else 0.")

    @property
    def all(self) -> tuple[Gauge, ...]:
        """Every metric."""
        return (self._requests, self._hit, self._errors, self._ttft, self._uncounted, self._cut)

    def measured(self, plan: str, rates: RatesOutcome) -> None:
        """Note a measurement."""
        for metric in self.all:
            metric.remove_by_labels({"plan": plan})
        if not isinstance(rates, Rates):
            return
        self._uncounted.labels(plan).set(rates.uncounted)
        self._cut.labels(plan).set(rates.cut)
        for arm, figures in (("plan", rates.arms.plan), ("flat", rates.arms.flat)) if rates.arms else ():
            if figures is not None:
                self._note(plan, arm, figures)

    def _note(self, plan: str, arm: str, figures: ArmFigures) -> None:
        self._requests.labels(plan, arm).set(figures.requests)
        self._errors.labels(plan, arm).set(figures.error_percent / 100)
        if figures.hit_percent is not None:
            self._hit.labels(plan, arm).set(figures.hit_percent / 100)
        for quantile, value in (("0.5", figures.ttft_p50), ("0.99", figures.ttft_p99)):
            if value is not None:
                self._ttft.labels(plan, arm, quantile).set(value / 1000)
