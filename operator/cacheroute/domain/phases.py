"""The planner's report in words: one line for each phase, one cause for each key. Printed as it is everywhere."""

from collections.abc import Mapping, Sequence

from cacheroute.domain.plan import MAX_CHANGES, KeyChange, MoveCause, Phase
from cacheroute.domain.wording import counted
from cacheroute.planning.hindsight import Caution, Hindsight
from cacheroute.planning.regime import Regime, Worth
from cacheroute.planning.report import Cause, Changes, PlanReport, Stop, Verdict

CAUSES: Mapping[Cause, MoveCause] = {
    Cause.LOST: MoveCause.LOST,
    Cause.ADMITTED: MoveCause.ADMITTED,
    Cause.DROPPED: MoveCause.DROPPED,
    Cause.FORCED_COLD: MoveCause.FORCED_COLD,
    Cause.RAISED: MoveCause.RAISED,
    Cause.LOWERED: MoveCause.LOWERED,
    Cause.BALANCED: MoveCause.BALANCED,
    Cause.SWAPPED: MoveCause.SWAPPED,
    Cause.REPLANNED: MoveCause.REPLANNED,
    Cause.FIXED: MoveCause.FIXED,
}

EXPLANATIONS: Mapping[MoveCause, str] = {
    MoveCause.LOST: "its destination was gone for good",
    MoveCause.ADMITTED: "its rate was high enough for a warm slot",
    MoveCause.DROPPED: "other keys have higher rates, and no warm slot was left for it",
    MoveCause.FORCED_COLD: "spec.overrides routes it cold",
    MoveCause.RAISED: "its rate exceeded the capacity of its destinations",
    MoveCause.LOWERED: "fewer destinations are enough for its rate",
    MoveCause.BALANCED: "its destination was above the allowed imbalance",
    MoveCause.SWAPPED: "it changed places with another key to relieve a destination above the allowed imbalance",
    MoveCause.REPLANNED: "policy Paper plans from scratch",
    MoveCause.FIXED: "spec.overrides admits it or fixes its number of destinations",
}

_STOPS: Mapping[Stop, str] = {
    Stop.BALANCED: "no destination is above the limit",
    Stop.BUDGET: "the rewarm budget is spent",
    Stop.TOO_LARGE: "every key that would have to move has a higher rate than the rewarm budget",
    Stop.NO_MOVE: "no move or swap lowers the hottest destination",
    Stop.NOT_TRIED: "not tried",
}

_WORTH: Mapping[Worth, str] = {
    Worth.UNKNOWN: "no traffic to judge by",
    Worth.WORTH_IT: "affinity is worth it",
    Worth.ALL_WARM: "flat routing keeps the prefixes warm everywhere, affinity gains little",
    Worth.TOO_SPARSE: "prefixes come back too seldom to be found anywhere",
    Worth.IMBALANCED: "the imbalance costs more than affinity gains",
}

_CAUTIONS: Mapping[Caution, str] = {
    Caution.HOT_DESTINATION: "HotDestination: a router that looks at load for every request would hold more; shorten "
    "spec.rates.windowSeconds and spec.planning.intervalSeconds, or plan for more headroom",
    Caution.COLD_TRAFFIC: "ColdTraffic: that part gains nothing; raise warmPrefixes if caches have room, or choose keys that last",
}


def phases(
    report: PlanReport, names: Sequence[str], capacity: float, hindsight: Hindsight
) -> tuple[Phase, ...]:
    """Return what each phase did, in order, and what the traffic is to the fleet.

    Args:
        report: of the planner.
        names: of the destinations.
        capacity: requests/s of all destinations that are there.
        hindsight: what the rates made of the plan before.
    """
    changes = report.changes
    return (
        Phase("load", _load(report, capacity)),
        Phase(
            "retire", f"{counted(changes.count(Cause.LOST), 'key')} re-placed from destinations that are gone"
        ),
        Phase("admit", _admitted(report)),
        Phase("count", _counted(changes)),
        Phase("rebalance", _rebalanced(report)),
        Phase("standby", _standbys(report, names)),
        Phase("verdict", _verdict(report)),
        Phase("regime", regime_line(report.regime)),
        Phase("hindsight", hindsight_line(hindsight)),
    )


def _load(report: PlanReport, capacity: float) -> str:
    line = f"{report.total_rate:.4g} of {capacity:.4g} requests/s that the fleet carries at its latency knee"
    if report.total_rate > capacity:
        return f"{line}: it is overloaded, more destinations are needed"
    return f"{line}, {100 * report.total_rate / capacity:.0f} %" if capacity > 0 else line


def _admitted(report: PlanReport) -> str:
    changes, admission = report.changes, report.admission
    line = f"{changes.count(Cause.ADMITTED)} admitted, {changes.count(Cause.DROPPED)} dropped"
    fixed = changes.count(Cause.FIXED, Cause.FORCED_COLD)
    line += f", {fixed} by override" if fixed else ""
    if admission.bar > 0:
        line += f"; a newcomer needs {admission.bar:.4g} requests/s"
    if admission.withheld:
        line += f", {counted(admission.withheld, 'key')} that from scratch would be admitted wait for a weaker one"
    return line


def _counted(changes: Changes) -> str:
    raised, lowered = changes.count(Cause.RAISED), changes.count(Cause.LOWERED)
    return f"{counted(raised, 'key')} got more destinations, {lowered} fewer"


def _rebalanced(report: PlanReport) -> str:
    done = report.rebalance
    if report.verdict.verdict is Verdict.HELD:
        return f"held back, see verdict; imbalance {report.imbalance:.3f}"
    if done.stop is Stop.NOT_TRIED:
        return _STOPS[done.stop]
    moved = (
        f"{counted(done.moves, 'move')} and {counted(done.swaps, 'swap')}, {done.moved_rate:.4g} requests/s"
    )
    return f"{moved}: imbalance {done.before:.3f} to {done.after:.3f}, limit {done.limit:.2f}; {_STOPS[done.stop]}"


def _standbys(report: PlanReport, names: Sequence[str]) -> str:
    loss = report.loss
    if loss.destination < 0:
        return f"{loss.keys} keys without a standby"
    line = f"{loss.changed} changed; the worst single loss, {names[loss.destination]}, leaves imbalance "
    line += f"{loss.imbalance:.3f}"
    return line + (f"; {loss.keys} keys have no standby" if loss.keys else "")


def _verdict(report: PlanReport) -> str:
    verdict = report.verdict
    if report.changes.count(Cause.REPLANNED):
        return "installed: policy Paper weighs nothing"
    if verdict.verdict is Verdict.NOTHING:
        return "nothing optional to change"
    if verdict.keys == 0:
        return "installed"
    return (
        f"{verdict.verdict.lower()}: optional changes of {counted(verdict.keys, 'key')} spare {verdict.benefit:.4g} requests "
        f"in the next interval and cost {verdict.cost:.4g} cold prefills"
    )


def regime_line(regime: Regime) -> str:
    """Return the diagnosis in one line."""
    if regime.worth is Worth.UNKNOWN:
        return _WORTH[regime.worth]
    return (
        f"{_WORTH[regime.worth]}: predicted prefix hits {100 * regime.flat_hit:.1f} % flat, "
        f"{100 * regime.planned_hit:.1f} % planned, capacity x {regime.multiplier:.2f}"
    )


def hindsight_line(hindsight: Hindsight) -> str:
    """Return in one line what the rates made of the plan before, and what to do about it."""
    if hindsight.utilisation <= 0:
        return "no traffic to judge by"
    line = (
        f"the rates put {hindsight.hottest:.2f} times the mean on the hottest destination of the plan before (chance taken off), "
        f"at {100 * hindsight.utilisation:.0f} % of the fleet's capacity; {100 * hindsight.cold:.0f} % of them had no destinations"
    )
    return "; ".join([line, *(_CAUTIONS[one] for one in hindsight.cautions)])


def key_changes(changes: Changes, keys: Sequence[str], names: Sequence[str]) -> tuple[KeyChange, ...]:
    """Return the changes with names, highest rate first, ties by key; at most MAX_CHANGES."""
    rows = zip(
        changes.rate.tolist(),
        changes.key.tolist(),
        changes.cause.tolist(),
        changes.source.tolist(),
        changes.target.tolist(),
        strict=True,
    )
    first = sorted(rows, key=lambda row: (-row[0], row[1]))[:MAX_CHANGES]
    return tuple(
        KeyChange(
            key=keys[key],
            cause=CAUSES[Cause(cause)],
            source=names[source] if source >= 0 else None,
            target=names[target] if target >= 0 else None,
            rate=rate,
        )
        for rate, key, cause, source, target in first
    )
