"""Stored plans of any size, for tests."""

import hashlib

from cacheroute.domain.plan import Group, Plan, PlanSummary, Seat, groups_version
from cacheroute.domain.spec import PolicyName

SUMMARY = PlanSummary(
    keys_known=100, keys_admitted=40, slots_used=40, slots_total=64, coverage=0.619, imbalance=1.0449
)


def plan(keys: int = 3, seed: str = "a", installed: float = 1_790_000_000.0) -> Plan:
    """Return a plan with ``keys`` keys that do not compress."""
    names = tuple(sorted(hashlib.sha256(f"{seed}{one}".encode()).hexdigest() for one in range(keys)))
    groups = (Group((0,), (1,), names, tuple(1.0 / (1 + one) for one in range(keys))),)
    return Plan(
        version=groups_version(groups),
        seats=(Seat(0, "h100", "pod-a"), Seat(1, "h100", None, "pod-b", 5.0)),
        groups=groups,
        next_seat=2,
        policy=PolicyName.PAPER,
        installed=installed,
        summary=SUMMARY,
    )
