"""The plan as a document: what is stored, compared and shown. Plain JSON types, one format version."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cacheroute.domain.errors import PlanFormatError
from cacheroute.domain.fleet import Pool
from cacheroute.domain.plan import (
    Basis,
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
from cacheroute.domain.spec import Override, OverrideRoute, PolicyName
from cacheroute.planning.hindsight import Caution
from cacheroute.planning.regime import Worth
from cacheroute.planning.report import Verdict

FORMAT = "cacheroute.dev/plan/v1"


def to_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON types; ``from_document`` gives back an equal plan."""
    return {
        "format": FORMAT,
        "version": plan.version,
        "revision": plan.revision,
        "policy": plan.policy.value,
        "installed": plan.installed,
        "nextSeat": plan.next_seat,
        "seats": [_seat_document(seat) for seat in plan.seats],
        "groups": [
            {
                "seats": list(group.seats),
                "standbys": list(group.standbys),
                "keys": list(group.keys),
                "rates": list(group.rates),
                "moves": [[one.time, one.cause.value, one.source] for one in group.moves],
            }
            for group in plan.groups
        ],
        "changes": [[one.key, one.cause.value, one.source, one.target, one.rate] for one in plan.changes],
        "summary": _summary_document(plan.summary),
        "basis": {
            "pools": [
                [one.name, one.requests_per_second, one.warm_prefixes, one.kv_cache_tokens]
                for one in plan.basis.pools
            ],
            "overrides": [[one.key, one.route, one.destinations] for one in plan.basis.overrides],
        },
    }


def _summary_document(summary: PlanSummary) -> dict[str, Any]:
    return {
        "keysKnown": summary.keys_known,
        "keysAdmitted": summary.keys_admitted,
        "slotsUsed": summary.slots_used,
        "slotsTotal": summary.slots_total,
        "coverage": summary.coverage,
        "imbalance": summary.imbalance,
        "overloaded": list(summary.overloaded),
        "singleLoss": summary.single_loss,
        "singleLossOf": summary.single_loss_of,
        "churn": summary.churn,
        "keysMoved": summary.keys_moved,
        "rewarm": summary.rewarm,
        "threshold": summary.threshold,
        "bar": summary.bar,
        "flatHit": summary.flat_hit,
        "plannedHit": summary.planned_hit,
        "multiplier": summary.multiplier,
        "worth": summary.worth.value,
        "cautions": [one.value for one in summary.cautions],
        "verdict": summary.verdict.value,
        "phases": [[one.name, one.message] for one in summary.phases],
    }


def from_document(document: object) -> Plan:
    """Read a plan back; evidence that an earlier version did not record is empty.

    Raises:
        PlanFormatError: the document is of another format, lacks a field, or its content does not match its
            version; the message names what.
    """
    fields = _mapping(document, "document")
    if fields.get("format") != FORMAT:
        raise PlanFormatError(
            f"plan document: format is {fields.get('format')!r}, this version reads {FORMAT!r}"
        )
    try:
        plan = _plan(fields)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise PlanFormatError(f"plan document: {type(error).__name__} at {error}") from error
    _check_seats(plan)
    _check_groups(plan)
    if plan.version != fields["version"]:
        raise PlanFormatError(
            f"plan document: content has version {plan.version}, the document says {fields['version']!r}"
        )
    return plan


def _check_groups(plan: Plan) -> None:
    """Refuse what no planner makes: keys twice or none, standbys among the seats, numbers that are none."""
    keys = [key for group in plan.groups for key in group.keys]
    if len(set(keys)) != len(keys) or not all(group.keys and group.seats for group in plan.groups):
        raise PlanFormatError("plan document: a key is in one group, and a group has keys and seats")
    if any(set(group.seats) & set(group.standbys) for group in plan.groups):
        raise PlanFormatError("plan document: a group has a seat that is its standby, too")
    if not all(math.isfinite(rate) and rate >= 0 for group in plan.groups for rate in group.rates):
        raise PlanFormatError("plan document: rates must be finite and >= 0")
    named = (*keys, *(name for seat in plan.seats for name in (seat.destination, seat.last) if name))
    strange = next((name for name in named if not name.isprintable()), None)
    if strange is not None:
        raise PlanFormatError(f"plan document: {strange!r} has characters that cannot be shown")


def _check_seats(plan: Plan) -> None:
    """Refuse seats that nothing could be routed by: the version covers the groups only."""
    known = {seat.index for seat in plan.seats}
    if len(known) != len(plan.seats) or max(known, default=-1) >= plan.next_seat:
        raise PlanFormatError("plan document: seats have one number each, below nextSeat")
    missing = {seat for group in plan.groups for seat in (*group.seats, *group.standbys)} - known
    if missing:
        raise PlanFormatError(f"plan document: a group has seat {min(missing)}, which is not in seats")
    if not all(isinstance(name, str | None) for seat in plan.seats for name in (seat.destination, seat.last)):
        raise PlanFormatError("plan document: a seat's destination must be a string or null")


def _plan(fields: Mapping[str, Any]) -> Plan:
    groups = tuple(_group(one) for one in fields["groups"])
    return Plan(
        version=groups_version(groups),
        seats=tuple(_seat(one) for one in fields["seats"]),
        groups=groups,
        next_seat=int(fields["nextSeat"]),
        policy=PolicyName(fields["policy"]),
        installed=float(fields["installed"]),
        summary=_summary(_mapping(fields["summary"], "summary")),
        changes=tuple(_change(*one) for one in fields.get("changes", ())),
        basis=_basis(_mapping(fields.get("basis", {}), "basis")),
    )


def _basis(fields: Mapping[str, Any]) -> Basis:
    return Basis(
        pools=tuple(
            Pool(str(name), float(rate), int(warm), None if tokens is None else int(tokens))
            for name, rate, warm, tokens in fields.get("pools", ())
        ),
        overrides=tuple(
            Override(
                str(key),
                None if route is None else OverrideRoute(route),
                None if count is None else int(count),
            )
            for key, route, count in fields.get("overrides", ())
        ),
    )


def _summary(fields: Mapping[str, Any]) -> PlanSummary:
    return PlanSummary(
        keys_known=int(fields["keysKnown"]),
        keys_admitted=int(fields["keysAdmitted"]),
        slots_used=int(fields["slotsUsed"]),
        slots_total=int(fields["slotsTotal"]),
        coverage=float(fields["coverage"]),
        imbalance=float(fields["imbalance"]),
        overloaded=_strings(fields["overloaded"]),
        single_loss=float(fields.get("singleLoss", 0.0)),
        single_loss_of=str(fields.get("singleLossOf", "")),
        churn=float(fields.get("churn", 0.0)),
        keys_moved=int(fields.get("keysMoved", 0)),
        rewarm=float(fields.get("rewarm", 0.0)),
        threshold=float(fields.get("threshold", 0.0)),
        bar=float(fields.get("bar", 0.0)),
        flat_hit=float(fields.get("flatHit", 0.0)),
        planned_hit=float(fields.get("plannedHit", 0.0)),
        multiplier=float(fields.get("multiplier", 0.0)),
        worth=Worth(fields.get("worth", Worth.UNKNOWN)),
        cautions=tuple(Caution(one) for one in fields.get("cautions", ())),
        verdict=Verdict(fields.get("verdict", Verdict.NOTHING)),
        phases=tuple(Phase(str(name), str(message)) for name, message in fields.get("phases", ())),
    )


def _change(key: str, cause: str, source: str | None, target: str | None, rate: float) -> KeyChange:
    return KeyChange(str(key), MoveCause(cause), _name(source), _name(target), float(rate))


def _name(value: object) -> str | None:
    return None if value is None else str(value)


def _group(document: object) -> Group:
    fields = _mapping(document, "group")
    keys, rates = _strings(fields["keys"]), tuple(float(one) for one in fields["rates"])
    moves = tuple(
        LastMove(float(time), MoveCause(cause), _name(source))
        for time, cause, source in fields.get("moves", ())
    )
    if len(keys) != len(rates) or len(moves) not in {0, len(keys)}:
        raise PlanFormatError(
            f"plan document: a group has {len(keys)} keys, {len(rates)} rates and {len(moves)} moves"
        )
    return Group(
        seats=tuple(int(one) for one in fields["seats"]),
        standbys=tuple(int(one) for one in fields["standbys"]),
        keys=keys,
        rates=rates,
        moves=moves,
    )


def _seat_document(seat: Seat) -> dict[str, Any]:
    document = {"index": seat.index, "pool": seat.pool, "destination": seat.destination}
    if seat.destination is None:
        document |= {"last": seat.last, "vacated": seat.vacated}
    if seat.filled is not None:
        document |= {"filled": seat.filled, "inherited": seat.inherited}
    return document


def _seat(document: object) -> Seat:
    fields = _mapping(document, "seat")
    vacated = fields.get("vacated")
    return Seat(
        index=int(fields["index"]),
        pool=str(fields["pool"]),
        destination=fields["destination"],
        last=fields.get("last"),
        vacated=None if vacated is None else float(vacated),
        filled=None if fields.get("filled") is None else float(fields["filled"]),
        inherited=_name(fields.get("inherited")),
    )


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PlanFormatError(f"plan document: {name} must be an object, not {type(value).__name__}")
    return value


def _strings(value: Sequence[object]) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise PlanFormatError("plan document: keys must be a list of strings")
    return tuple(str(one) for one in value)
