"""Tables in which one setting varies: q_cap, errors of the calibration, sizes of the fleet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cacheroute.simulation.experiments.cell import Cell, Outcome
from cacheroute.simulation.experiments.ladder import LADDER_8B
from cacheroute.simulation.experiments.policies import POLICIES
from cacheroute.simulation.experiments.traffic import Traffic
from cacheroute.simulation.paper.calibration import CAPACITY, WARM, Calibration, plan
from cacheroute.simulation.paper.ladder_study import LadderStudy, Summary, with_censoring, with_interval
from cacheroute.simulation.paper.study import Agreement, Section
from cacheroute.simulation.paper.tables import SECONDS, WHALES, base


@dataclass(frozen=True, slots=True)
class VariantStudy:
    """A table; see ``study.Study``.

    Attributes:
        parts: a ladder study for each setting, by what stands in the first column.
    """

    name: str
    title: str
    about: str
    parts: tuple[tuple[str, LadderStudy], ...]

    def cells(self) -> list[Cell]:
        """Return the simulations, part by part."""
        return [cell for _label, part in self.parts for cell in part.cells()]

    def section(self, outcomes: Sequence[Outcome]) -> Section:
        """Return the table, a row for each setting and policy."""
        rows, statements, numbers, total, begin = [], [], {}, Agreement(), 0
        for label, part in self.parts:
            size = len(part.cells())
            found = part.summaries(outcomes[begin : begin + size])
            inner = part.section(outcomes[begin : begin + size])
            begin += size
            rows += [_row(label, part, policy, found) for policy in part.policies]
            statements += [_statement(label, part, found)]
            total += inner.agreement or Agreement()
            numbers[label] = inner.numbers
        return Section(
            heading=(
                "setting",
                "policy",
                "hit %",
                "capacity at 3.5 s, requests/s",
                "ratio to flat",
                "max/mean",
            ),
            rows=rows,
            statements=statements,
            agreement=total if any(part.setting for _label, part in self.parts) else None,
            numbers=numbers,
        )


def _row(label: str, part: LadderStudy, policy: str, found: dict[str, Summary]) -> list[str]:
    one, flat = found[policy], found[part.flat]
    limit = part.objectives[0]
    load, least = one.capacities[limit].load.value, flat.capacities[limit].load.value
    return [
        label,
        POLICIES[policy].title,
        with_interval(one.hit, 1),
        with_censoring(one.capacities[limit], part.ladder[0]),
        f"{load / least:.2f}" if least else "–",
        f"{one.imbalance.value:.2f}",
    ]


def _statement(label: str, part: LadderStudy, found: dict[str, Summary]) -> str:
    limit = part.objectives[0]
    flat = found[part.flat].capacities[limit].load.value
    best = max(
        (one for one in part.policies if one != part.flat),
        key=lambda one: found[one].capacities[limit].load.value,
    )
    load = found[best].capacities[limit].load.value
    verdict = "a win" if load > flat else ("a tie" if load == flat else "a loss")
    return f"{label}: {verdict} against flat routing ({load:.0f} and {flat:.0f} requests/s)."


def table_13(found: Calibration) -> VariantStudy:
    """Return the sweep of q_cap on the 8B fleet."""
    part = LadderStudy(
        name="T13",
        title="",
        about="",
        setting="",
        cell=base(found, "8b-bf16", 128),
        plan=plan("8b-bf16", 2 * SECONDS),
        policies=("flat", "cacheroute"),
        ladder=LADDER_8B,
        seeds=5,
        common=240.0,
    )
    return VariantStudy(
        "T13",
        "q_cap on the 8B fleet",
        "The paper finds 89 to 91 % hit and 1.50 times flat's capacity for every q_cap, because no key is above any of them.",
        tuple(
            (f"q_cap {one:g}", replace(part, plan=replace(part.plan, capacity=one)))
            for one in (50.0, 100.0, 200.0, 500.0)
        ),
    )


def miscalibration(found: Calibration) -> VariantStudy:
    """Return errors of q_cap and W where replication is at work: a whale needs several destinations."""
    cell = base(found, "70b-fp8", 256)
    traffic = replace(cell.traffic, whales=WHALES) if isinstance(cell.traffic, Traffic) else cell.traffic
    part = LadderStudy(
        name="T13b",
        title="",
        about="",
        setting="",
        cell=replace(cell, traffic=traffic),
        plan=plan("70b-fp8", 2 * SECONDS),
        policies=("flat", "cacheroute", "stable"),
        ladder=(30, 60, 100, 140, 180, 220),
        seeds=5,
        common=100.0,
    )
    factors = (0.75, 0.9, 1.0, 1.1, 1.25)
    capacities = [
        (f"q_cap × {one:g}", replace(part, plan=replace(part.plan, capacity=CAPACITY["70b-fp8"] * one)))
        for one in factors
    ]
    slots = [
        (f"W = {one}", replace(part, plan=replace(part.plan, warm=one)))
        for one in (WARM - 2, WARM - 1, WARM + 1, WARM + 2)
    ]
    return VariantStudy(
        "T13b",
        "q_cap and W measured wrongly, with whales",
        f"What the paper does not sweep: 70B fp8, 256 keys, of which {WHALES.keys} have {WHALES.head:.0%} of the traffic, so that counts above 1 and full warm slots matter.",
        (*capacities, *slots),
    )


def table_14(found: Calibration) -> VariantStudy:
    """Return the sizes of the fleet."""
    parts = []
    for size in (8, 30, 60):
        cell = base(found, "8b-bf16", 128, size)
        traffic = replace(cell.traffic, whales=WHALES) if isinstance(cell.traffic, Traffic) else cell.traffic
        study = LadderStudy(
            name="T14",
            title="",
            about="",
            setting=f"8B whales R={size}",
            cell=replace(cell, traffic=traffic),
            plan=replace(plan("8b-bf16", 2 * SECONDS), capacity=8.0),
            policies=("flat", "cacheroute", "stable"),
            ladder=LADDER_8B,
            seeds=5,
            common=100.0,
        )
        parts.append((f"R = {size}", study))
    return VariantStudy(
        "T14",
        "8B with whales: sizes of the fleet",
        "The same loads on 8, 30 and 60 destinations. The paper: no load passes on 8, 4.44 times flat on 30, no win on 60.",
        tuple(parts),
    )
