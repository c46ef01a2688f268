import json
from dataclasses import replace
from typing import Any

import pytest

from cacheroute.domain.arms import ArmFigures, Arms
from cacheroute.domain.conditions import Condition, ConditionStatus, ConditionType
from cacheroute.domain.decision import Moved, Outcome
from cacheroute.domain.fleet import DestinationState
from cacheroute.domain.gateways import GatewayStatus, Rejection
from cacheroute.domain.rates import ServedTokens
from cacheroute.domain.spec import InvalidSpec
from cacheroute.domain.status import LastDecision, PlanStatus, refused_status, top_keys
from cacheroute.kube.models_status import MAX_MESSAGE
from cacheroute.kube.status import MIN_SECONDS, Written, worth_writing
from cacheroute.kube.status_document import notable, status_document
from tests.kube.objects import ROOT
from tests.kube.plans import plan

NOW = 1_800_000_000.0
LATER = NOW + 3600


def condition(status: ConditionStatus = ConditionStatus.TRUE, message: str = "fine") -> Condition:
    return Condition(ConditionType.READY, status, "Ready", message)


STATUS = PlanStatus(
    generation=3,
    mode="Active",
    conditions=(condition(),),
    plan=plan(),
    destinations={DestinationState.READY: 29, DestinationState.DRAINING: 1, DestinationState.LOST: 0},
    gateways=GatewayStatus(2, 1, (Rejection("envoy-1", "Rejected", "bad route"),)),
    served=ServedTokens(1000.0, 931.4, 300),
    arms=Arms(ArmFigures(9000.4, 9, 1e6, 712_000, 120.4, None), None, 300),
    last_decision=LastDecision(NOW, Outcome.INSTALLED, "FirstPlan", "plan installed", Moved(41, 0.84)),
    top_keys=top_keys(plan()),
)


def document(status: PlanStatus = STATUS, former: Any = None, now: float = NOW) -> dict[str, Any]:
    return status_document(status, former, now)


def test_the_document_is_the_golden_one() -> None:
    golden = json.loads((ROOT / "tests/data/routingplan-status.json").read_text(encoding="utf-8"))
    assert document() == golden


def test_a_refused_plan_says_why_and_nothing_else() -> None:
    refused = document(refused_status(InvalidSpec(4, "spec.models: is needed")))
    assert refused["observedGeneration"] == 4
    assert [one["type"] for one in refused["conditions"]] == [kind.value for kind in ConditionType]
    assert not {"plan", "served", "arms", "lastDecision"} & refused.keys()


def test_a_transition_time_lasts_as_long_as_its_status() -> None:
    first = document()
    same = document(replace(STATUS, conditions=(condition(message="other"),)), first, LATER)
    assert same["conditions"][0]["lastTransitionTime"] == first["conditions"][0]["lastTransitionTime"]
    turned = document(replace(STATUS, conditions=(condition(ConditionStatus.FALSE),)), first, LATER)
    assert turned["conditions"][0]["lastTransitionTime"] != first["conditions"][0]["lastTransitionTime"]


def test_a_hold_does_not_forget_what_the_plan_moved() -> None:
    assert STATUS.last_decision is not None
    held = replace(STATUS, last_decision=replace(STATUS.last_decision, outcome=Outcome.HELD, moved=Moved()))
    assert document(held, document())["plan"]["moved"] == {"keys": 41, "ratePercent": "0.8"}
    assert document(held)["plan"]["moved"] == {"keys": 0, "ratePercent": "0.0"}


def test_long_messages_are_cut() -> None:
    cut = document(replace(STATUS, conditions=(condition(message="x" * 10_000),)))
    assert len(cut["conditions"][0]["message"]) == MAX_MESSAGE


@pytest.mark.parametrize(
    "changed",
    [
        replace(STATUS, generation=4),
        replace(STATUS, conditions=(condition(ConditionStatus.FALSE),)),
        replace(STATUS, plan=plan(seed="b")),
        replace(STATUS, destinations={DestinationState.READY: 28, DestinationState.LOST: 2}),
        replace(STATUS, gateways=GatewayStatus(2, 2)),
        replace(STATUS, last_decision=None),
    ],
)
def test_what_matters_is_written_at_once(changed: PlanStatus) -> None:
    former = document()
    new = document(changed, former)
    assert notable(new) != notable(former)
    assert worth_writing(new, Written("uid", former, NOW), NOW)


@pytest.mark.parametrize(
    "changed",
    [
        replace(STATUS, served=ServedTokens(1000.0, 900.0, 300)),
        replace(STATUS, conditions=(condition(message="12.1 requests/s"),)),
        replace(STATUS, top_keys=()),
    ],
)
def test_numbers_that_drift_wait(changed: PlanStatus) -> None:
    written = Written("uid", document(), NOW)
    new = document(changed, written.document)
    assert not worth_writing(new, written, NOW + MIN_SECONDS / 2)
    assert worth_writing(new, written, NOW + MIN_SECONDS)


def test_nothing_new_is_never_written() -> None:
    written = Written("uid", document(), NOW)
    assert not worth_writing(document(STATUS, written.document, LATER), written, LATER)
