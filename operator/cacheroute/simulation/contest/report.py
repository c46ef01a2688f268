"""The part of docs/results.md about published traces and the diagnosis; the rest of the page is left as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cacheroute.simulation.contest.contest import (
    DESTINATIONS,
    ENGINE,
    INTERVAL,
    KV_TOKENS,
    OBJECTIVES,
    WINDOW,
    Result,
)
from cacheroute.simulation.contest.made_up import Judged
from cacheroute.simulation.contest.standing import (
    CAPACITY_MARGIN,
    FLAT,
    HIT_MARGIN,
    TAIL_MARGIN,
    Figures,
    standing,
)
from cacheroute.simulation.experiments.digest import code_version
from cacheroute.simulation.experiments.policies import POLICIES
from cacheroute.simulation.paper.report import machine
from cacheroute.simulation.shadow.diagnosis import told

_MARGINS = (
    f"Ahead means: {CAPACITY_MARGIN:.0%} more capacity, {HIT_MARGIN:g} point more hit, or a worst tenant's p99 that is "
    f"{TAIL_MARGIN:.0%} shorter."
)


def part(results: Sequence[Result], judged: Sequence[Judged]) -> str:
    """Return the part as Markdown."""
    limits = ", ".join(
        f"{limit:g} s for prompts of up to {tokens:,} tokens in the mean" for tokens, limit in OBJECTIVES
    )
    lines = [
        "## Published traces: `Stable` against everybody",
        "",
        (
            f"Written by `make contest TRACES=<folder>`; [traces.md](traces.md#published-traces) says where the traces are published. Machine: {machine()}. Code of the simulators: "
            f"`{code_version()[:12]}`. Seed 0; one run of each trace."
        ),
        "",
        (
            f"{DESTINATIONS} destinations {ENGINE} with {KV_TOKENS:,} tokens of KV cache each, service times as measured publicly (nothing of the calibration). A trace is played faster or slower until the "
            f"objective fails, a p99 of {limits}. A plan each {INTERVAL:g} s from the last {WINDOW:g} s of the trace's clock, "
            f"none at the start; the first fifth is not judged. Hit and tails are read at the load that flat routing holds. {_MARGINS}"
        ),
        "",
    ]
    for result in results:
        lines += _trace(result)
    return "\n".join([*lines, *_diagnosis(results, judged)])


def _trace(result: Result) -> list[str]:
    found = standing(result.figures)
    least = result.figures[FLAT].capacity or 0.0
    lines = [
        f"### {result.source.name}",
        "",
        f"{result.source.about}. Objective {result.objective:g} s; hit and tails at {result.load:.3g} requests/s.",
        "",
        "| policy | capacity, requests/s | ratio to flat | hit % | p99, s | worst tenant's p99, s |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(policy, one, least) for policy, one in result.figures.items()]
    words = [f"**`Stable` loses**: {one}." for one in found.losses] or ["Nobody is ahead of `Stable`."]
    words += [] if found.gains else ["`Stable` gains nothing over flat routing."]
    return [*lines, "", *(f"* {one}" for one in words), f"* The diagnosis: {told(result.said)}.", ""]


def _row(policy: str, one: Figures, least: float) -> str:
    capacity = one.capacity or 0.0
    cells = (
        POLICIES[policy].title,
        f"{one.sign}{capacity:.3g}",
        f"{capacity / least:.2f}",
        f"{one.hit:.1f}",
        f"{one.tail:.2f}",
        f"{one.worst:.2f}" if one.worst else "–",
    )
    return f"| {' | '.join(cells)} |"


def _diagnosis(results: Sequence[Result], judged: Sequence[Judged]) -> list[str]:
    every = [
        *((one.source.name, one.figures, one.said) for one in results),
        *((one.name, one.figures, one.said) for one in judged),
    ]
    rows, right, misses, alarms = [], 0, [], []
    for name, figures, said in every:
        found, warned = standing(figures), warns(said)
        fits = found.should_warn == warned
        right += fits
        misses += [name] if found.should_warn and not warned else []
        alarms += [name] if warned and not found.should_warn else []
        outcome = "right" if fits else ("**miss**" if found.should_warn else "**false alarm**")
        behind = "; ".join(found.losses) or ("nowhere" if found.gains else "nowhere, gains nothing over flat")
        rows.append(f"| {name} | {behind} | {told(said)} | {outcome} |")
    return [
        "## Did the diagnosis warn?",
        "",
        (
            "The diagnosis of the operator ([planning.md](planning.md#is-affinity-worth-it-here)), made at the end of each interval from the rates of the past, as it stands in `status.plan.predicted`. "
            f"It should warn where some policy is ahead of `Stable`, or `Stable` gains nothing over flat routing, and be quiet elsewhere. {_MARGINS} The made-up workloads are those of that name above, seed 0, against flat, CHWBL, DualMap and Preble; T and S at the load at which their hits are told."
        ),
        "",
        (
            f"**{right} of {len(every)} right; missed: {', '.join(misses) or 'none'}; false alarms: {', '.join(alarms) or 'none'}.** The threshold of HotDestination was chosen on O1 to S2; the traces, T1 and T9 "
            "were not looked at for it."
        ),
        "",
        "| workload | `Stable` is behind in | the diagnosis, after the warm-up | |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def warns(said: Mapping[str, int]) -> bool:
    """Tell whether any interval had a warning."""
    return any(name != "intervals" for name in said)


def numbers(results: Sequence[Result], judged: Sequence[Judged]) -> dict[str, object]:
    """Return everything as plain JSON types."""
    return {
        **{
            one.source.name: {
                "load": one.load,
                "figures": {name: asdict(figures) for name, figures in one.figures.items()},
                "said": one.said,
            }
            for one in results
        },
        **{
            one.name: {
                "figures": {name: asdict(figures) for name, figures in one.figures.items()},
                "said": one.said,
            }
            for one in judged
        },
    }
