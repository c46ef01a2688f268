"""PlanStatus → the status of a RoutingPlan as JSON types, and what of it is worth a write. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cacheroute.domain.arms import ArmFigures, Arms
from cacheroute.domain.conditions import Condition
from cacheroute.domain.decision import Outcome
from cacheroute.domain.fleet import DestinationState
from cacheroute.domain.gateways import GatewayStatus
from cacheroute.domain.plan import Plan, PlanSummary
from cacheroute.domain.rates import ServedTokens
from cacheroute.domain.status import LastDecision, PlanStatus, TopKey
from cacheroute.kube.models_status import (
    MAX_MESSAGE,
    ArmModel,
    ArmsModel,
    ConditionModel,
    DestinationCountsModel,
    GatewayCountsModel,
    KeyCountsModel,
    LastDecisionModel,
    MovedModel,
    PlanModel,
    PredictedModel,
    ServedModel,
    SlotsModel,
    StatusModel,
    TopKeyModel,
)
from cacheroute.planning.regime import Worth

Document = Mapping[str, Any]
_MAX_DESTINATIONS = 64


def status_document(status: PlanStatus, former: Document | None, now: float) -> dict[str, Any]:
    """Return the status document.

    Args:
        status: what is reported.
        former: the document that is in place; what changed since decides the transition times.
        now: seconds since the epoch.
    """
    former = former or {}
    plan = status.plan
    model = StatusModel(
        observed_generation=status.generation,
        conditions=tuple(_condition(one, status.generation, former, now) for one in status.conditions),
        plan=None if plan is None else _plan(plan, _moved(plan, status.last_decision, former)),
        destinations=_destinations(status.destinations),
        gateways=_gateways(status.gateways),
        served=None if status.served is None else _served(status.served),
        arms=None if status.arms is None else _arms(status.arms),
        last_decision=None if status.last_decision is None else _last_decision(status.last_decision),
        top_keys=tuple(_top_key(one) for one in status.top_keys),
    )
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def notable(document: Document) -> Document:
    """Return the part of a status whose change is written at once; the rest is numbers that drift."""
    plan = document.get("plan", {})
    return {
        "generation": document.get("observedGeneration"),
        "conditions": [
            (one["type"], one["status"], one["reason"], one["observedGeneration"])
            for one in document.get("conditions", ())
        ],
        "plan": (plan.get("revision"), plan.get("installedTime")),
        "destinations": document.get("destinations"),
        "gateways": document.get("gateways"),
        "lastDecision": document.get("lastDecision"),
    }


def timestamp(seconds: float) -> str:
    """Return a time as the API spells it (RFC 3339, UTC, whole seconds)."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _condition(condition: Condition, generation: int, former: Document, now: float) -> ConditionModel:
    before = next((one for one in former.get("conditions", ()) if one["type"] == condition.type), None)
    same = before is not None and before["status"] == condition.status
    return ConditionModel(
        type=condition.type,
        status=condition.status,
        observed_generation=generation,
        last_transition_time=before["lastTransitionTime"] if before and same else timestamp(now),
        reason=condition.reason,
        message=_cut(condition.message),
    )


def _plan(plan: Plan, moved: MovedModel) -> PlanModel:
    summary = plan.summary
    display = f"{summary.keys_admitted}/{summary.keys_known}"
    return PlanModel(
        version=plan.version,
        revision=plan.revision,
        installed_time=timestamp(plan.installed),
        keys=KeyCountsModel(known=summary.keys_known, admitted=summary.keys_admitted, display=display),
        slots=SlotsModel(used=summary.slots_used, total=summary.slots_total),
        coverage_percent=int(100 * summary.coverage),
        imbalance=f"{summary.imbalance:.2f}",
        worst_single_loss_imbalance=f"{summary.single_loss:.2f}" if summary.single_loss_of else None,
        predicted=_predicted(summary),
        moved=moved,
    )


def _predicted(summary: PlanSummary) -> PredictedModel | None:
    if summary.worth is Worth.UNKNOWN:
        return None
    return PredictedModel(
        worth=summary.worth,
        cautions=tuple(one.value for one in summary.cautions),
        flat_hit_percent=f"{100 * summary.flat_hit:.1f}",
        planned_hit_percent=f"{100 * summary.planned_hit:.1f}",
        capacity_multiplier=f"{summary.multiplier:.2f}",
    )


def _moved(plan: Plan, last: LastDecision | None, former: Document) -> MovedModel:
    """Return what the change to the plan in force moved; a later hold does not make that forgotten."""
    if last is not None and last.outcome in {Outcome.INSTALLED, Outcome.REPAIRED}:
        return MovedModel(keys=last.moved.keys, rate_percent=f"{last.moved.rate_percent:.1f}")
    before = former.get("plan", {})
    if before.get("revision") == plan.revision:
        return MovedModel.model_validate(before["moved"])
    return MovedModel(keys=0, rate_percent="0.0")


def _destinations(counts: Mapping[DestinationState, int]) -> DestinationCountsModel:
    ready = counts.get(DestinationState.READY, 0)
    return DestinationCountsModel(
        ready=ready,
        draining=counts.get(DestinationState.DRAINING, 0),
        lost=counts.get(DestinationState.LOST, 0),
        display=f"{ready}/{sum(counts.values())}",
    )


def _gateways(gateways: GatewayStatus) -> GatewayCountsModel:
    return GatewayCountsModel(
        connected=gateways.connected,
        synced=gateways.synced,
        rejected=len(gateways.rejections),
        display=f"{gateways.synced}/{gateways.connected}",
    )


def _served(served: ServedTokens) -> ServedModel:
    return ServedModel(token_hit_percent=f"{served.hit_percent:.1f}", window_seconds=served.window_seconds)


def _arms(arms: Arms) -> ArmsModel:
    return ArmsModel(
        window_seconds=arms.window_seconds,
        plan=None if arms.plan is None else _arm(arms.plan),
        flat=None if arms.flat is None else _arm(arms.flat),
        comparison=arms.sentence(),
    )


def _arm(arm: ArmFigures) -> ArmModel:
    return ArmModel(
        requests=round(arm.requests),
        token_hit_percent=None if arm.hit_percent is None else f"{arm.hit_percent:.1f}",
        ttft_p50_milliseconds=None if arm.ttft_p50 is None else round(arm.ttft_p50),
        ttft_p99_milliseconds=None if arm.ttft_p99 is None else round(arm.ttft_p99),
        error_percent=f"{arm.error_percent:.2f}",
    )


def _last_decision(last: LastDecision) -> LastDecisionModel:
    return LastDecisionModel(
        time=timestamp(last.time), outcome=last.outcome, reason=last.reason, message=_cut(last.message)
    )


def _top_key(top: TopKey) -> TopKeyModel:
    return TopKeyModel(key=top.key, rate=f"{top.rate:.2f}", destinations=top.destinations[:_MAX_DESTINATIONS])


def _cut(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…"
