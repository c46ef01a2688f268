"""Two plans of one history by hand, for tests: what happened between them is written beside each change."""

from cacheroute.domain.plan import (
    Group,
    KeyChange,
    LastMove,
    MoveCause,
    Phase,
    Plan,
    PlanSummary,
    Seat,
    groups_version,
)
from cacheroute.domain.spec import PolicyName
from cacheroute.planning.regime import Worth
from cacheroute.planning.report import Verdict

FIRST, SECOND = 1_790_000_000.0, 1_790_000_060.0
ADMITTED = LastMove(FIRST, MoveCause.ADMITTED, None)


def summary(**changes: object) -> PlanSummary:
    values: dict[str, object] = {
        "keys_known": 100,
        "keys_admitted": 5,
        "slots_used": 6,
        "slots_total": 6,
        "coverage": 0.8,
        "imbalance": 1.25,
        "single_loss": 1.5,
        "single_loss_of": "pod-a",
        "threshold": 0.5,
        "bar": 0.5,
        "worth": Worth.WORTH_IT,
        "verdict": Verdict.INSTALLED,
        "phases": (Phase("admit", "5 admitted, 0 dropped"),),
    }
    return PlanSummary(**(values | changes))  # type: ignore[arg-type]  # the fields by name


def plan(
    seats: tuple[Seat, ...],
    groups: tuple[Group, ...],
    installed: float = FIRST,
    changes: tuple[KeyChange, ...] = (),
    said: PlanSummary | None = None,
    policy: PolicyName = PolicyName.STABLE,
) -> Plan:
    return Plan(
        version=groups_version(groups),
        seats=seats,
        groups=groups,
        next_seat=10,
        policy=policy,
        installed=installed,
        summary=said or summary(),
        changes=changes,
    )


def before() -> Plan:
    seats = (
        Seat(0, "h100", "pod-a"),
        Seat(1, "h100", "pod-b"),
        Seat(2, "h100", "pod-c"),
        Seat(3, "h100", "pod-d"),
    )
    groups = (
        Group((0,), (1,), ("acme", "bolt"), (4.0, 2.0), (ADMITTED, ADMITTED)),
        Group((1, 2), (0,), ("wide",), (6.0,), (ADMITTED,)),
        Group((2,), (1,), ("gone",), (0.5,), (ADMITTED,)),
        Group((3,), (0,), ("kept",), (1.5,), (ADMITTED,)),
    )
    return plan(seats, groups)


def after() -> Plan:
    """Made from ``before``: bolt was moved, gone was dropped for new, pod-e replaced pod-d, pod-c is away."""
    seats = (
        Seat(0, "h100", "pod-a"),
        Seat(1, "h100", "pod-b"),
        Seat(2, "h100", None, "pod-c", SECOND),
        Seat(3, "h100", "pod-e", filled=SECOND, inherited="pod-d"),
    )
    balanced = LastMove(SECOND, MoveCause.BALANCED, "pod-a")
    groups = (
        Group((0,), (1,), ("acme",), (4.0,), (ADMITTED,)),
        Group(
            (1,), (3,), ("bolt", "new"), (2.0, 1.0), (balanced, LastMove(SECOND, MoveCause.ADMITTED, None))
        ),
        Group((1, 2), (3,), ("wide",), (6.0,), (ADMITTED,)),
        Group((3,), (0,), ("kept",), (1.5,), (ADMITTED,)),
    )
    changes = (
        KeyChange("bolt", MoveCause.BALANCED, "pod-a", "pod-b", 2.0),
        KeyChange("new", MoveCause.ADMITTED, None, "pod-b", 1.0),
        KeyChange("gone", MoveCause.DROPPED, "pod-c", None, 0.25),
    )
    return plan(seats, groups, SECOND, changes, summary(coverage=0.725, imbalance=1.125))
