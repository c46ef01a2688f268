"""Row 1: what a request costs in Envoy, against the same Envoy without keys and against vllm-router, interleaved."""

import contextlib
import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from benchmarks.gateway import load, rig
from benchmarks.gateway.load import SSE_ANSWER, Seen, Traffic
from benchmarks.gateway.processes import MeasureError, Running
from benchmarks.gateway.results import Figure, Row, median

KEYS, QUICK_KEYS = 100_000, 2_000
ROUNDS, SECONDS = 5, 1
CONNECTIONS = 16
KB = 1000
SIZES = (1, 20, 200)
MANY_KEYS = {1: 256, 20: 256, 200: 32}
"""Different requests that are sent for each size, KB."""
TARGETS = {
    "header key": dict.fromkeys(SIZES, 1.5),
    "body key": {1: 1.8, 20: 2.1, 200: 3.8},
}
ALIKE = 1.10
"""How much dearer than the cheapest the first, the last and an unknown key may be."""


@dataclass(slots=True)
class Subject:
    """One thing that is loaded, and what was seen of it."""

    name: str
    process: Running
    port: int
    traffic: Traffic
    cost: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)

    def measure(self, seconds: float) -> None:
        """Load it once; processor seconds per 1,000 requests and median latency, ms."""
        before = self.process.processor_seconds
        seen: Seen = load.run(self.port, self.traffic, seconds, CONNECTIONS)
        if seen.failed or not seen.requests:
            raise MeasureError(f"{self.name}: {seen.failed} of {seen.requests} requests failed")
        self.cost.append(1000 * (self.process.processor_seconds - before) / seen.requests)
        self.p50.append(seen.p50)


@dataclass(frozen=True, slots=True)
class _Servers:
    plain: tuple[Running, int]
    retrying: tuple[Running, int]
    any_model: tuple[Running, int]
    named_model: tuple[Running, int]
    router: tuple[Running, int] | None
    keys: int


def run(say: Callable[[str], None], *, quick: bool) -> Row:
    """Measure."""
    with _servers(quick=quick) as servers:
        subjects = list(_subjects(servers, quick=quick))
        rounds = 1 if quick else ROUNDS
        for number in range(rounds + 1):
            say(f"cost of a request: round {number} of {rounds}")
            for one in subjects:
                one.measure(SECONDS)
    for one in subjects:  # the first round warms up
        del one.cost[0], one.p50[0]
    by_name = {one.name: one for one in subjects}
    return Row("cost", "Cost of a request in Envoy", list(_figures(by_name)))


@contextlib.contextmanager
def _servers(*, quick: bool) -> Iterator[_Servers]:
    keys = QUICK_KEYS if quick else KEYS
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(rig.backend())
        where = rig.addresses(rig.DESTINATIONS, port)
        any_model, named = stack.enter_context(rig.gateway()), stack.enter_context(rig.gateway())
        any_model.publish(rig.order(keys, where, model="*"))
        named.publish(rig.order(keys, where))
        yield _Servers(
            plain=stack.enter_context(rig.plain_envoy(where)),
            retrying=stack.enter_context(rig.plain_envoy(where, failover=True)),
            any_model=(any_model.envoy, any_model.port),
            named_model=(named.envoy, named.port),
            router=None if quick else stack.enter_context(rig.vllm_router(where)),
            keys=keys,
        )


def _subjects(servers: _Servers, *, quick: bool) -> Iterator[Subject]:
    for size in SIZES[:1] if quick else SIZES:
        header = Traffic("header", 0, servers.keys - 1, MANY_KEYS[size], size * KB)
        yield Subject(f"plain {size} KB", *servers.plain, header)
        yield Subject(f"plain with retries {size} KB", *servers.retrying, header)
        yield Subject(f"header key {size} KB", *servers.any_model, header)
        yield Subject(f"header key, named model {size} KB", *servers.named_model, header)
        yield Subject(f"body key {size} KB", *servers.named_model, replace(header, where="body"))
        if servers.router:
            yield Subject(f"router {size} KB", *servers.router, header)
    header = Traffic("header", 0, servers.keys - 1, 256, KB)
    yield Subject("plain SSE", *servers.plain, replace(header, accept=SSE_ANSWER))
    yield Subject("header key SSE", *servers.any_model, replace(header, accept=SSE_ANSWER))
    for name, number in (("first", 0), ("last", servers.keys - 1), ("unknown", 9_999_999)):
        yield Subject(f"{name} key", *servers.any_model, Traffic("header", number, number))


def _figures(by_name: dict[str, Subject]) -> Iterator[Figure]:
    sizes = [size for size in SIZES if f"plain {size} KB" in by_name]
    for size in sizes:
        plain = by_name[f"plain {size} KB"]
        yield median(f"plain Envoy, {size} KB", plain.cost, "CPU s / 1,000", digits=4, note=_p50(plain))
    for kind, size in itertools.product(("header key", "header key, named model", "body key"), sizes):
        target = TARGETS.get(kind, TARGETS["body key"])[size]
        yield _ratio(by_name[f"{kind} {size} KB"], by_name[f"plain {size} KB"], target)
        yield _ratio(by_name[f"{kind} {size} KB"], by_name[f"plain with retries {size} KB"], None)
    yield _ratio(by_name["header key SSE"], by_name["plain SSE"], TARGETS["header key"][1])
    yield _alike([by_name[f"{name} key"] for name in ("first", "last", "unknown")])
    for size in (size for size in sizes if f"router {size} KB" in by_name):
        for kind in ("header key", "body key"):
            yield _ratio(by_name[f"{kind} {size} KB"], by_name[f"router {size} KB"], 1.0)


def _ratio(subject: Subject, baseline: Subject, target: float | None) -> Figure:
    """Return the median over the rounds of the ratio within each round."""
    ratios = [one / other for one, other in zip(subject.cost, baseline.cost, strict=True)]
    note = f"{statistics.median(subject.cost):.4f} CPU s / 1,000; {_p50(subject)} against {_p50(baseline)}"
    return median(f"{subject.name} / {baseline.name}", ratios, "×", target, note)


def _alike(subjects: list[Subject]) -> Figure:
    costs = {one.name: statistics.median(one.cost) for one in subjects}
    note = ", ".join(f"{name} {cost:.4f}" for name, cost in costs.items())
    ratio = max(costs.values()) / min(costs.values())
    return Figure("dearest / cheapest of first, last and unknown key", round(ratio, 3), "×", ALIKE, note=note)


def _p50(subject: Subject) -> str:
    return f"p50 {statistics.median(subject.p50):.2f} ms"
