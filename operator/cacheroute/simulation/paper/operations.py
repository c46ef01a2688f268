"""What the paper lacks: losses, rolling updates, crowds, whales, fairness, and `Stable` against everybody."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.experiments.cell import Cell, Outcome, with_load, with_seed
from cacheroute.simulation.experiments.ladder import Mean, mean
from cacheroute.simulation.experiments.policies import POLICIES, with_policy
from cacheroute.simulation.experiments.traffic import Crowd, Drift, Traffic, Whales
from cacheroute.simulation.fleet.loss import Loss
from cacheroute.simulation.paper.calibration import CAPACITY, WARM, Calibration
from cacheroute.simulation.paper.ladder_study import LadderStudy, with_interval
from cacheroute.simulation.paper.study import Section
from cacheroute.simulation.paper.tables import base
from cacheroute.simulation.routing.planner import Planner, PlanSettings

RIVALS = ("flat", "chwbl", "dualmap", "preble", "llmd", "sglang", "cacheroute", "stable")
REPLANNED = PlanSettings(
    Planner.STABLE, CAPACITY["70b-fp8"], WARM, interval_seconds=60.0, window_seconds=300.0
)
"""A plan each minute, from the rates of the last five."""
LOAD = 100.0
_TELL = (
    ("token_hit", "hit %", 100.0, 1, 1),
    ("ttft_p99", "p99, s", 1.0, 2, -1),
    ("worst_key_p99", "worst key p99, s", 1.0, 2, -1),
    ("median_key_p99", "median key p99, s", 1.0, 2, -1),
    ("fairness", "fairness", 1.0, 3, 1),
    ("imbalance", "max/mean", 1.0, 2, -1),
    ("failed", "failed %", 100.0, 2, -1),
)
"""Field, heading, factor, digits, and whether more is better."""
_JUDGED = ("token_hit", "ttft_p99", "worst_key_p99")


@dataclass(frozen=True, slots=True)
class OperationsStudy:
    """Policies in one situation at one load; see ``study.Study``."""

    name: str
    title: str
    about: str
    cell: Cell
    policies: tuple[str, ...] = RIVALS
    seeds: int = 5
    plan: PlanSettings = REPLANNED

    def cells(self) -> list[Cell]:
        """Return the simulations, by policy and seed."""
        return [
            with_seed(replace(self.cell, fleet=with_policy(self.cell.fleet, policy, self.plan)), seed)
            for policy in self.policies
            for seed in range(self.seeds)
        ]

    def section(self, outcomes: Sequence[Outcome]) -> Section:
        """Return the table, and who is ahead of `Stable`."""
        found = {
            policy: self._means([one.figures for one in outcomes[n * self.seeds : (n + 1) * self.seeds]])
            for n, policy in enumerate(self.policies)
        }
        rows = [
            [
                POLICIES[policy].title,
                *(with_interval(one[field], digits) for field, _h, _f, digits, _b in _TELL),
            ]
            for policy, one in found.items()
        ]
        numbers = {
            policy: {field: value.value for field, value in one.items()} for policy, one in found.items()
        }
        return Section(("policy", *(one[1] for one in _TELL)), rows, ahead(numbers), numbers=dict(numbers))

    def _means(self, figures: Sequence[object]) -> dict[str, Mean]:
        return {
            field: mean([factor * float(getattr(one, field)) for one in figures])
            for field, _heading, factor, _digits, _better in _TELL
        }


def ahead(numbers: dict[str, dict[str, float]]) -> list[str]:
    """Say in which of the judged figures which policies are ahead of `Stable` by more than 5 %."""
    lines = []
    better = {field: sign for field, _heading, _factor, _digits, sign in _TELL}
    for field, heading, _factor, digits, _better in _TELL:
        if field not in _JUDGED or "stable" not in numbers:
            continue
        ours = numbers["stable"][field]
        margin = 0.05 * abs(ours)
        rivals = [
            policy
            for policy, one in numbers.items()
            if policy != "stable" and better[field] * (one[field] - ours) > margin
        ]
        words = ", ".join(f"{POLICIES[one].title} ({numbers[one][field]:.{digits}f})" for one in rivals)
        lines.append(
            f"{heading}: `Stable` {ours:.{digits}f}; "
            + (f"**`Stable` loses** to {words}." if rivals else "nobody is ahead by more than 5 %.")
        )
    return lines


def situations(found: Calibration) -> list[OperationsStudy]:
    """Return the situations."""
    plain = with_load(base(found, "70b-fp8", 128), LOAD)
    words = f"70B fp8, 128 keys, {LOAD:g} requests/s, a plan each minute from the last five minutes. "
    return [
        OperationsStudy("O1", "steady", words + "Nothing happens for ten minutes.", _changed(plain, 600.0)),
        OperationsStudy(
            "O2",
            "a destination is lost every 10 minutes",
            words
            + "Twenty minutes; the replacement takes requests after 60 s, with empty caches. Requests that had begun are cut and count as failed.",
            _changed(plain, 1200.0, losses=tuple(Loss(300.0 + 600.0 * n, 7 * n, 60.0) for n in range(2))),
        ),
        OperationsStudy(
            "O3",
            "rolling update",
            words
            + "Each destination takes no new requests for 10 s, ends, and is back after 20 s with empty caches; the next one follows at once.",
            _changed(
                plain, 1080.0, losses=tuple(Loss(100.0 + 30.0 * n, n, 20.0, notice=10.0) for n in range(30))
            ),
        ),
        OperationsStudy(
            "O4",
            "flash crowd",
            words + "The quietest key has 30 % of the traffic from second 190 to 310.",
            _changed(plain, 480.0, crowd=Crowd(190.0, 120.0, 0.3)),
        ),
        OperationsStudy(
            "O5",
            "a whale",
            words + "One key has 25 % of the traffic.",
            _changed(plain, 480.0, whales=Whales(1, 0.25)),
        ),
        OperationsStudy(
            "O6",
            "drift",
            words + "Shares make a lognormal step of sigma 0.3 each minute.",
            _changed(plain, 600.0, drift=Drift(0.3, 60.0)),
        ),
        OperationsStudy(
            "O7",
            "drift, and plans from the last minute only",
            words
            + "As O6, but the rates of a plan are those of the last minute: they lag one step of the drift instead of five.",
            _changed(plain, 600.0, drift=Drift(0.3, 60.0)),
            plan=replace(REPLANNED, window_seconds=60.0),
        ),
    ]


def contests(found: Calibration) -> list[LadderStudy]:
    """Return the capacities of `Stable` and its rivals while rates drift, and while destinations are lost."""
    plain = base(found, "70b-fp8", 128)
    words = "70B fp8, 128 keys, a plan each minute from the last five minutes; three minutes of warm-up are not judged. "
    drifting = _changed(plain, 480.0, drift=Drift(0.3, 60.0))
    losing = _changed(plain, 960.0, losses=(Loss(240.0, 3, 60.0), Loss(840.0, 11, 60.0)))
    return [
        _contest("S1", "capacities with drift", words + "A step of sigma 0.3 each minute.", drifting),
        _contest("S2", "capacities with a loss every 10 minutes", words + "Back after 60 s.", losing),
    ]


def _contest(name: str, title: str, about: str, cell: Cell) -> LadderStudy:
    return LadderStudy(
        name, title, about, "", cell, REPLANNED, RIVALS, (60, 100, 140, 180, 220), seeds=1, common=100.0
    )


def _changed(cell: Cell, seconds: float, losses: tuple[Loss, ...] = (), **traffic: object) -> Cell:
    if not isinstance(cell.traffic, Traffic):
        raise TypeError("only made-up traffic can be changed")
    made = replace(cell.traffic, seconds=seconds, **traffic)  # type: ignore[arg-type]
    return replace(cell, traffic=made, fleet=replace(cell.fleet, losses=losses), warmup=180.0)
