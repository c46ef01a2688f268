"""Small values that tests start from."""

import numpy as np

from cacheroute.domain.claims import Claim
from cacheroute.domain.fleet import Destination, DestinationState, Fleet, Pool
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.observation import Observation
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import Rates, RatesOutcome
from cacheroute.domain.spec import PlanRef, PlanSpec

POOL = Pool("h100", requests_per_second=2.5, warm_prefixes=16)


def spec(name: str = "llama", models: tuple[str, ...] = ("llama",), created: float = 1.0) -> PlanSpec:
    return PlanSpec(
        ref=PlanRef("inference", name),
        generation=1,
        created=created,
        gateway="default",
        models=models,
        pools=(POOL,),
        key_sources=(KeySource(KeySourceKind.HEADER, "x-tenant-id"),),
    )


def destination(
    name: str, state: DestinationState = DestinationState.READY, pool: str = "h100"
) -> Destination:
    return Destination(name=name, address="10.0.0.1", port=8000, pool=pool, node=f"node-{name}", state=state)


def fleet(*names: str, lost: tuple[str, ...] = (), draining: tuple[str, ...] = ()) -> Fleet:
    members = [
        *(destination(name) for name in names),
        *(destination(name, DestinationState.LOST) for name in lost),
        *(destination(name, DestinationState.DRAINING) for name in draining),
    ]
    return Fleet(destinations=tuple(sorted(members, key=lambda one: one.name)))


def rates(values: dict[str, float], unkeyed: float = 0.0) -> Rates:
    keys = tuple(sorted(values))
    return Rates(
        keys=keys, values=np.array([values[key] for key in keys]), unkeyed=unkeyed, rejected=0.0, time=100.0
    )


def tenants(number: int) -> dict[str, float]:
    return {f"tenant-{i:03d}": 1.0 / (1 + i) for i in range(number)}


def observe(
    where: Fleet,
    outcome: RatesOutcome | None = None,
    plan: Plan | None = None,
    the_spec: PlanSpec | None = None,
) -> Observation:
    return Observation(
        spec=the_spec or spec(),
        claim=Claim(accepted=True),
        invalid=None,
        fleet=where,
        rates=outcome if outcome is not None else rates(tenants(20)),
        plan=plan,
        gateways=GatewayStatus(connected=2, synced=2),
        last=None,
    )
