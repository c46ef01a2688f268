"""One key of a plan explained in words; the same for files and for a cluster."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from cacheroute.cli.output import Output, write
from cacheroute.cli.tables import facts, show
from cacheroute.domain.explanation import Cold, Explanation, Loss, Place, Planned, Server, Service
from cacheroute.domain.phases import EXPLANATIONS
from cacheroute.domain.plan import KeyChange, LastMove
from cacheroute.domain.wording import counted

_FLEET = "the less loaded of two random destinations"
_NAMES = 3
Facts = Iterator[tuple[str, str]]


def print_explanation(explained: Explanation, output: Output) -> None:
    """Print it."""
    if output is Output.TABLE:
        show(facts(*lines(explained)))
    else:
        write(document(explained), output)


def document(explained: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON types; times are seconds since the epoch."""
    state = explained.state
    return {
        "key": explained.key,
        "asked": explained.asked,
        "plan": explained.version,
        "policy": explained.policy.value,
        "installed": explained.installed,
        **(_planned_document(state) if isinstance(state, Planned) else _cold_document(state)),
    }


def _planned_document(state: Planned) -> dict[str, Any]:
    move = state.last_move
    return {
        "planned": True,
        "rate": state.rate,
        "destinations": [_place_document(place) for place in state.places],
        "standbys": list(state.standbys),
        "servedNow": _service_document(state.now),
        "losses": [{"lost": one.destination, "then": _service_document(one.then)} for one in state.losses],
        "lastMove": {
            "time": move.time,
            "cause": move.cause.value,
            "from": move.source,
            "because": EXPLANATIONS[move.cause],
        }
        if move
        else None,
    }


def _place_document(place: Place) -> dict[str, Any]:
    return {
        "name": place.name,
        "pool": place.pool,
        "share": place.share,
        "vacantSince": place.vacant_since,
        "inheritedFrom": place.inherited,
        "filled": place.filled,
    }


def _service_document(service: Service) -> dict[str, Any]:
    return {"by": service.by.value, "names": list(service.names)}


def _cold_document(state: Cold) -> dict[str, Any]:
    lost = state.dropped
    return {
        "planned": False,
        "dropped": {
            "cause": lost.cause.value,
            "from": lost.source,
            "rate": lost.rate,
            "because": EXPLANATIONS[lost.cause],
        }
        if lost
        else None,
        "overriddenCold": state.overridden,
        "neededRate": state.needed,
        "lowestPlannedRate": state.lowest,
    }


def lines(explained: Explanation) -> Facts:
    """Return what is said of the key, name and words."""
    changed = (
        f" (asked for as {explained.asked}; keys are lower case)" if explained.asked != explained.key else ""
    )
    yield "key", explained.key + changed
    made = f"{explained.version}, policy {explained.policy}, installed {_time(explained.installed)}"
    yield "plan", made
    if isinstance(explained.state, Planned):
        yield from _planned(explained.state)
    else:
        yield from _cold(explained.state, explained)


def _planned(state: Planned) -> Facts:
    number = len(state.places)
    yield "state", f"planned on {counted(number, 'destination')}"
    yield "rate", f"{state.rate:.4g} requests/s when it was planned"
    for place in state.places:
        yield "destination", _place(place)
    yield "standby", ", ".join(state.standbys) or "none"
    yield "served now by", _service(state.now)
    yield "last change", _move(state.last_move) if state.last_move else "not recorded"
    for loss in state.losses:
        yield f"if {loss.destination} dies", _then(loss)


def _place(place: Place) -> str:
    share = f"{place.share:.4g} requests/s" if place.share is not None else "a share by its capacity"
    said = f"{place.name} (pool {place.pool}), {share}"
    if place.vacant_since is not None:
        said += f"; gone since {_time(place.vacant_since)}, its seat waits for a replacement"
    if place.inherited is not None and place.filled is not None:
        said += f"; took over from {place.inherited} at {_time(place.filled)}"
    return said


def _then(loss: Loss) -> str:
    others = len(loss.then.names)
    if loss.then.by is Server.DESTINATIONS and others > _NAMES:
        return f"its other {others} destinations"
    return _service(loss.then)


def _service(service: Service) -> str:
    names = ", ".join(service.names)
    if service.by is Server.FLEET:
        return f"the fleet: each request goes to {_FLEET}"
    if service.by is Server.STANDBY:
        return f"{names}, its standby"
    return names if len(service.names) == 1 else f"{names}: each request by the one with fewer running"


def _move(move: LastMove) -> str:
    left = f", left {move.source}" if move.source else ""
    return f"{_time(move.time)} {move.cause}{left}: {EXPLANATIONS[move.cause]}"


def _cold(state: Cold, explained: Explanation) -> Facts:
    yield "state", f"cold: each request goes to {_FLEET}"
    yield "note", "a plan has no cold keys in it: one that was never seen, or is misspelt, looks the same"
    if state.dropped is not None:
        yield "last change", _dropped(state.dropped, explained.installed)
    yield "to be planned", _needed(state)
    if state.lowest is not None:
        yield "lowest planned", f"{state.lowest:.4g} requests/s"


def _dropped(change: KeyChange, installed: float) -> str:
    left = f", left {change.source}" if change.source else ""
    rate = f" with {change.rate:.4g} requests/s"
    return f"{_time(installed)} {change.cause}{left}{rate}: {EXPLANATIONS[change.cause]}"


def _needed(state: Cold) -> str:
    if state.overridden:
        return "spec.overrides routes it cold; remove that override"
    if state.needed is None:
        return "any request within the rate window is enough while warm slots are free"
    return f"it needs more than {state.needed:.4g} requests/s, or an override with route Admit"


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s since the epoch"
