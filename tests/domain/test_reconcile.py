from dataclasses import replace

import pytest

from cacheroute.domain.claims import Claim
from cacheroute.domain.conditions import ConditionType
from cacheroute.domain.decision import Decision, Outcome
from cacheroute.domain.gateways import GatewayStatus, Rejection
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.movement import effective, served_by
from cacheroute.domain.observation import Event, Observation
from cacheroute.domain.plan import Plan
from cacheroute.domain.rates import RatesReason, RatesUnavailable
from cacheroute.domain.reconcile import held, reconcile
from cacheroute.domain.spec import Mode
from cacheroute.domain.status import LastDecision
from tests.domain.builders import fleet, observe, rates, spec

NO_RATES = RatesUnavailable(RatesReason.UNREACHABLE, "prometheus at http://p:9090 is not reachable")
NOW = 1000.0


def install(*names: str) -> Plan:
    decision = reconcile(NOW, observe(fleet(*names)), Event.INTERVAL)
    assert decision.outcome is Outcome.INSTALLED
    assert decision.plan is not None
    return decision.plan


def condition(decision: Decision, kind: ConditionType) -> tuple[str, str]:
    found = next(one for one in decision.conditions if one.type is kind)
    return found.status, found.reason


def test_first_interval_installs_a_plan_and_says_so() -> None:
    decision = reconcile(NOW, observe(fleet("a", "b", "c")), Event.INTERVAL)
    assert decision.outcome is Outcome.INSTALLED
    assert decision.reason == "FirstPlan"
    assert decision.plan is not None
    assert decision.plan.summary.keys_admitted == 20
    assert [notice.reason for notice in decision.notices] == ["PlanInstalled"]
    assert condition(decision, ConditionType.READY) == ("True", "Ready")


def test_every_condition_is_set_from_the_first_visit() -> None:
    decision = reconcile(NOW, observe(fleet(), outcome=NO_RATES), Event.CHANGED)
    assert [one.type for one in decision.conditions] == list(ConditionType)


def test_unchanged_input_leaves_the_very_plan_in_force() -> None:
    plan = install("a", "b")
    changed = reconcile(NOW + 1, observe(fleet("a", "b"), plan=plan), Event.CHANGED)
    assert changed.plan is plan
    assert changed.outcome is Outcome.UNCHANGED
    again = reconcile(NOW + 60, observe(fleet("a", "b"), plan=plan), Event.INTERVAL)
    assert again.outcome is Outcome.UNCHANGED
    assert again.plan == plan
    assert again.plan is not None
    assert again.plan.installed == NOW
    assert not again.notices


def test_no_plan_before_the_first_interval() -> None:
    decision = reconcile(NOW, observe(fleet("a")), Event.CHANGED)
    assert decision.plan is None
    assert condition(decision, ConditionType.PLANNED) == ("False", "NoPlanYet")
    assert condition(decision, ConditionType.READY) == ("False", "NoPlanYet")


def test_missing_rates_hold_the_plan_and_say_why() -> None:
    plan = install("a", "b")
    decision = reconcile(NOW, observe(fleet("a", "b"), outcome=NO_RATES, plan=plan), Event.INTERVAL)
    assert decision.plan is plan
    assert (decision.outcome, decision.reason) == (Outcome.HELD, RatesReason.UNREACHABLE)
    assert condition(decision, ConditionType.RATES_AVAILABLE) == ("False", "SourceUnreachable")
    assert condition(decision, ConditionType.READY) == ("True", "Ready")
    assert decision.notices[0].warning


def test_a_hold_for_the_same_reason_is_told_once() -> None:
    plan = install("a", "b")
    seen = observe(fleet("a", "b"), outcome=NO_RATES, plan=plan)
    first = reconcile(NOW, seen, Event.INTERVAL)
    last = LastDecision(NOW, first.outcome, first.reason, first.message, first.moved)
    assert reconcile(NOW, replace(seen, last=last), Event.INTERVAL).notices == ()


def test_a_lost_destination_moves_only_its_own_keys() -> None:
    plan = install("a", "b", "c")
    before = served_by(plan)
    decision = reconcile(NOW, observe(fleet("a", "c", lost=("b",)), plan=plan), Event.CHANGED)
    assert (decision.outcome, decision.reason) == (Outcome.REPAIRED, "DestinationLost")
    assert decision.plan is not None
    after = served_by(decision.plan)
    moved = {key for key in before if before[key] != after[key]}
    assert moved == {key for key, names in before.items() if "b" in names}
    assert decision.moved.keys == len(moved)
    assert decision.plan.version == plan.version
    assert decision.plan.revision != plan.revision


def test_keys_of_a_vacant_seat_are_served_by_their_standby() -> None:
    plan = install("a", "b", "c")
    repaired = reconcile(NOW, observe(fleet("a", "c"), plan=plan), Event.CHANGED).plan
    assert repaired is not None
    for group in repaired.groups:
        assert effective(repaired, group)
        assert "b" not in effective(repaired, group)


def test_a_draining_destination_leaves_its_seat() -> None:
    plan = install("a", "b")
    decision = reconcile(NOW, observe(fleet("a", draining=("b",)), plan=plan), Event.CHANGED)
    assert decision.plan is not None
    assert set(decision.plan.by_destination()) == {"a"}


def test_a_replacement_inherits_the_keys_of_the_lost() -> None:
    plan = install("a", "b", "c")
    lost = reconcile(NOW, observe(fleet("a", "c"), plan=plan), Event.CHANGED).plan
    joined = reconcile(NOW + 20, observe(fleet("a", "c", "b2"), plan=lost), Event.CHANGED)
    assert joined.plan is not None
    before, after = served_by(plan), served_by(joined.plan)
    assert all({"b": "b2"}.get(name, name) in after[key] for key, names in before.items() for name in names)
    assert "b2 takes over the keys of b" in joined.message


def test_the_same_destination_comes_back_to_its_own_seat() -> None:
    plan = install("a", "b", "c")
    lost = reconcile(NOW, observe(fleet("c"), plan=plan), Event.CHANGED).plan
    back = reconcile(NOW + 5, observe(fleet("a", "b", "c"), plan=lost), Event.CHANGED).plan
    assert back is not None
    assert served_by(back) == served_by(plan)


def test_within_the_grace_an_interval_keeps_the_vacant_seat() -> None:
    plan = install("a", "b", "c")
    lost = reconcile(NOW, observe(fleet("a", "c"), plan=plan), Event.CHANGED).plan
    later = reconcile(NOW + 60, observe(fleet("a", "c"), plan=lost), Event.INTERVAL).plan
    assert later is not None
    assert [seat.last for seat in later.seats if seat.destination is None] == ["b"]


def test_after_the_grace_the_seat_is_dropped_and_its_keys_planned_elsewhere() -> None:
    plan = install("a", "b", "c")
    lost = reconcile(NOW, observe(fleet("a", "c"), plan=plan), Event.CHANGED).plan
    later = reconcile(NOW + 301, observe(fleet("a", "c"), plan=lost), Event.INTERVAL)
    assert later.outcome is Outcome.INSTALLED
    assert later.plan is not None
    assert {seat.destination for seat in later.plan.seats} == {"a", "c"}


def test_seats_are_never_numbered_twice() -> None:
    plan = install("a", "b")
    lost = reconcile(NOW, observe(fleet("a"), plan=plan), Event.CHANGED).plan
    without = reconcile(NOW + 301, observe(fleet("a"), plan=lost), Event.INTERVAL).plan
    again = reconcile(NOW + 400, observe(fleet("a", "z"), plan=without), Event.INTERVAL).plan
    assert again is not None
    assert [seat.index for seat in again.seats] == [0, 2]


def test_nothing_is_planned_without_destinations() -> None:
    decision = reconcile(NOW, observe(fleet(lost=("a",))), Event.INTERVAL)
    assert (decision.outcome, decision.reason, decision.plan) == (Outcome.HELD, "NoDestinations", None)
    assert condition(decision, ConditionType.DESTINATIONS_READY) == ("False", "NoneReady")


def test_a_claimed_model_is_not_planned() -> None:
    seen = replace(observe(fleet("a")), claim=Claim(accepted=False, message="model 'x' is served by y/z"))
    decision = reconcile(NOW, seen, Event.INTERVAL)
    assert decision.outcome is Outcome.HELD
    assert [notice.reason for notice in decision.notices] == ["PlanRefused"]
    assert condition(decision, ConditionType.ACCEPTED) == ("False", "ModelClaimed")
    assert condition(decision, ConditionType.READY) == ("False", "ModelClaimed")


def test_shadow_plans_and_is_ready() -> None:
    shadow = replace(spec(), mode=Mode.SHADOW)
    decision = reconcile(NOW, observe(fleet("a"), the_spec=shadow), Event.INTERVAL)
    assert condition(decision, ConditionType.PLANNED) == ("True", "Shadow")


def test_canary_plans_and_says_how_much_it_routes() -> None:
    canary = replace(spec(), mode=Mode.CANARY, canary_percent=5)
    decision = reconcile(NOW, observe(fleet("a", "b", "c"), the_spec=canary), Event.INTERVAL)
    assert condition(decision, ConditionType.PLANNED) == ("True", "Canary")
    assert decision.message.endswith("routes 5 % of each key's requests, spec.mode is Canary")


@pytest.mark.parametrize(
    ("gateways", "expected"),
    [
        (GatewayStatus(), ("False", "NoProxies")),
        (GatewayStatus(connected=2, synced=1), ("False", "Pending")),
        (GatewayStatus(connected=1, synced=1), ("True", "Synced")),
        (
            GatewayStatus(connected=1, rejections=(Rejection("envoy-1", "UnsupportedVersion", "is 1.36"),)),
            ("False", "UnsupportedVersion"),
        ),
    ],
)
def test_synced(gateways: GatewayStatus, expected: tuple[str, str]) -> None:
    seen: Observation = replace(observe(fleet("a")), gateways=gateways)
    assert condition(reconcile(NOW, seen, Event.CHANGED), ConditionType.SYNCED) == expected


def test_a_token_provider_that_the_gateway_does_not_have_is_told() -> None:
    def told(*providers: str) -> str:
        gateways = GatewayStatus(1, 1, providers=frozenset(providers))
        decision = reconcile(NOW, replace(seen, gateways=gateways), Event.CHANGED)
        return next(one.message for one in decision.conditions if one.type is ConditionType.SYNCED)

    source = KeySource(KeySourceKind.JWT_CLAIM, "tenant", "corp")
    seen: Observation = observe(fleet("a"), the_spec=replace(spec(), key_sources=(source,)))
    assert "a proxy has no token provider corp" in told("partner")
    assert "token provider" not in told("corp", "partner")


def test_an_install_that_cannot_be_stored_is_held() -> None:
    decision = reconcile(NOW, observe(fleet("a")), Event.INTERVAL)
    kept = held(decision, None, "API server: 503")
    assert (kept.outcome, kept.reason, kept.plan) == (Outcome.HELD, "StoreUnavailable", None)


def test_hot_keys_are_spread_over_several_seats() -> None:
    decision = reconcile(
        NOW, observe(fleet("a", "b", "c"), outcome=rates({"hot": 4.0, "x": 0.1})), Event.INTERVAL
    )
    assert decision.plan is not None
    assert len(served_by(decision.plan)["hot"]) == 2


def test_unkeyed_traffic_counts_against_coverage() -> None:
    decision = reconcile(NOW, observe(fleet("a"), outcome=rates({"x": 1.0}, unkeyed=3.0)), Event.INTERVAL)
    assert decision.plan is not None
    assert decision.plan.summary.coverage == pytest.approx(0.25)
    assert decision.moved.keys == 0
