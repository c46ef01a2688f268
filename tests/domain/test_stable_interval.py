"""Policy Stable in the domain: seats, overrides, modes, reasons."""

from dataclasses import replace

import numpy as np
import pytest

from cacheroute.domain.conditions import ConditionType
from cacheroute.domain.decision import Decision, Outcome
from cacheroute.domain.fleet import Fleet, Pool
from cacheroute.domain.movement import served_by
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import MoveCause, Plan
from cacheroute.domain.plan_document import from_document, to_document
from cacheroute.domain.rates import Rates, RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.reconcile import reconcile
from cacheroute.domain.spec import (
    Balance,
    Mode,
    Override,
    OverrideRoute,
    PlanningSpec,
    PlanSpec,
    PolicyName,
)
from cacheroute.planning.hindsight import Caution
from cacheroute.planning.options import AdmissionRule
from tests.domain.builders import fleet, observe, rates, spec

NAMES = ("a", "b", "c", "d", "e", "f")
NO_RATES = RatesUnavailable(RatesReason.UNREACHABLE, "prometheus at http://p:9090 is not reachable")
GRACE = 300
ROOMY = replace(spec(), pools=(Pool("h100", 2.5, 100),))


def many(number: int = 60, seed: int = 0) -> dict[str, float]:
    values = np.random.default_rng(seed).lognormal(0.0, 1.0, number)
    return {f"tenant-{i:03d}": float(value) for i, value in enumerate(8.0 * values / values.sum())}


def drifted(values: dict[str, float], seed: int) -> dict[str, float]:
    steps = np.exp(0.3 * np.random.default_rng(seed).standard_normal(len(values)))
    return {key: value * float(step) for (key, value), step in zip(values.items(), steps, strict=True)}


def step(
    where: Fleet,
    measured: RatesOutcome,
    plan: Plan | None,
    the_spec: PlanSpec | None = None,
    now: float = 1000.0,
) -> Decision:
    return reconcile(now, observe(where, measured, plan, the_spec), Event.INTERVAL)


def plan_of(decision: Decision) -> Plan:
    assert decision.plan is not None
    return decision.plan


def first(the_spec: PlanSpec | None = None, *names: str) -> Plan:
    return plan_of(step(fleet(*(names or NAMES)), rates(many()), None, the_spec))


def roomy() -> Plan:
    """Return a plan with many keys and a slot for each, so that the load after a loss is balanced."""
    made = plan_of(step(fleet(*NAMES), rates(many(400)), None, ROOMY))
    assert 1.0 < made.summary.single_loss < 1.15
    return made


def moved(before: Plan, after: Plan) -> set[str]:
    old, new = served_by(before), served_by(after)
    return {key for key in old | new if old.get(key) != new.get(key)}


def test_stable_is_the_default_and_a_drift_step_moves_few_keys_where_paper_moves_nearly_all() -> None:
    stable, paper = first(), first(replace(spec(), planning=PlanningSpec(policy=PolicyName.PAPER)))
    measured = rates(drifted(many(), 1))
    by_stable = plan_of(step(fleet(*NAMES), measured, stable))
    by_paper = plan_of(
        step(fleet(*NAMES), measured, paper, replace(spec(), planning=PlanningSpec(policy=PolicyName.PAPER)))
    )
    assert stable.policy is PolicyName.STABLE
    assert len(moved(stable, by_stable)) < 10
    assert len(moved(paper, by_paper)) > 30
    assert {change.cause for change in by_paper.changes} == {MoveCause.REPLANNED}


def test_the_order_of_the_measured_keys_changes_nothing() -> None:
    values = many()
    backwards = dict(reversed(values.items()))
    one, other = (plan_of(step(fleet(*NAMES), rates(each), None)) for each in (values, backwards))
    assert one == other


def test_a_plan_with_everything_in_it_survives_its_document() -> None:
    before = first()
    after = plan_of(step(fleet(*NAMES), rates(drifted(many(), 3)), before, now=2000.0))
    read = from_document(to_document(after))
    assert (read, read.changes, read.summary) == (after, after.changes, after.summary)
    assert [group.moves for group in read.groups] == [group.moves for group in after.groups]


def test_every_key_knows_when_and_why_it_moved_last() -> None:
    before = first()
    after = plan_of(step(fleet(*NAMES), rates(drifted(many(), 1)), before, now=2000.0))
    changed = moved(before, after)
    assert changed
    for group in after.groups:
        for key, last in zip(group.keys, group.moves, strict=True):
            assert (last.time == 2000.0) == (key in changed)
            assert last.cause in (
                {MoveCause.BALANCED, MoveCause.SWAPPED} if key in changed else {MoveCause.ADMITTED}
            )


def test_a_lost_destination_keeps_its_seat_for_the_grace_and_then_only_its_keys_move() -> None:
    before = roomy()
    lost = fleet("a", "b", "c", "d", "e", lost=("f",))
    mine = {key for key, names in served_by(before).items() if names == {"f"}}
    measured = rates(many(400))
    waiting = plan_of(step(lost, measured, before, ROOMY, now=1001.0))
    assert moved(before, waiting) == mine
    gone = before.by_destination()["f"].index
    assert not any(gone in group.standbys for group in waiting.groups), "nobody stands by who is not there"
    retired = step(lost, measured, waiting, ROOMY, now=1001.0 + GRACE)
    after = plan_of(retired)
    assert retired.reason == "DestinationRetired"
    assert moved(before, after) == mine
    assert moved(waiting, after) == set(), "the standbys that served them keep them"
    assert {seat.destination for seat in after.seats} == {"a", "b", "c", "d", "e"}


def test_a_replacement_within_the_grace_inherits_the_whole_key_set() -> None:
    before = roomy()
    measured = rates(many(400))
    waiting = plan_of(step(fleet(*NAMES[:5], lost=("f",)), measured, before, ROOMY, now=1001.0))
    after = plan_of(step(fleet(*NAMES[:5], "g"), measured, waiting, ROOMY, now=1100.0))
    renamed = {
        key: frozenset("g" if name == "f" else name for name in names)
        for key, names in served_by(before).items()
    }
    assert served_by(after) == renamed
    seat = after.by_destination()["g"]
    assert (seat.filled, seat.inherited) == (1100.0, "f")


def test_a_join_moves_keys_only_to_the_newcomer() -> None:
    before = first()
    after = plan_of(step(fleet(*NAMES, "g"), rates(many()), before))
    now = served_by(after)
    assert all("g" in now[key] for key in moved(before, after))


def test_overrides_are_obeyed_and_told() -> None:
    before = first()
    loud, quiet = "tenant-001", "never-measured"
    the_spec = replace(
        spec(),
        overrides=(
            Override(loud, OverrideRoute.COLD),
            Override(quiet, OverrideRoute.ADMIT, destinations=3),
        ),
    )
    after = plan_of(step(fleet(*NAMES), rates(many()), before, the_spec))
    now = served_by(after)
    assert loud not in now
    assert len(now[quiet]) == 3
    assert {(one.key, one.cause) for one in after.changes if one.key == loud} == {
        (loud, MoveCause.FORCED_COLD)
    }
    assert moved(before, after) == {loud, quiet}


def test_hold_keeps_the_plan_whatever_the_rates_say() -> None:
    before = first()
    the_spec = replace(spec(), mode=Mode.HOLD)
    for measured in (rates(drifted(many(), 5)), NO_RATES):
        decision = step(fleet(*NAMES), measured, before, the_spec)
        assert decision.plan == before
        assert (decision.outcome, decision.reason) == (Outcome.HELD, "ModeHold")
        assert not any(notice.warning for notice in decision.notices)


@pytest.mark.parametrize("measured", [rates(many()), NO_RATES])
def test_hold_replaces_what_is_gone_for_good_and_nothing_else(measured: RatesOutcome) -> None:
    before = first()
    the_spec = replace(spec(), mode=Mode.HOLD)
    lost = fleet("a", "b", "c", "d", "e", lost=("f",))
    mine = {key for key, names in served_by(before).items() if names == {"f"}}
    waiting = plan_of(step(lost, measured, before, the_spec, now=1001.0))
    decision = step(lost, measured, waiting, the_spec, now=1001.0 + GRACE)
    assert (decision.outcome, decision.reason) == (Outcome.REPAIRED, "DestinationRetired")
    assert moved(before, plan_of(decision)) == mine


def test_a_hold_without_a_plan_says_so() -> None:
    decision = step(fleet(*NAMES), rates(many()), None, replace(spec(), mode=Mode.HOLD))
    assert (decision.plan, decision.reason) == (None, "ModeHold")
    assert "no plan to hold" in decision.message


def test_changes_that_do_not_pay_are_held_with_the_reason() -> None:
    before = plan_of(step(fleet("a", "b"), rates({f"tenant-{i}": 0.25 for i in range(8)}), None))
    served = served_by(before)
    tilted = {key: 0.25 * (1.105 if served[key] == {"a"} else 0.895) for key in served}
    the_spec = replace(spec(), planning=PlanningSpec(rewarm_budget_percent=100))
    decision = step(fleet("a", "b"), rates(tilted), before, the_spec)
    assert (decision.outcome, decision.reason) == (Outcome.HELD, "CostExceedsBenefit")
    assert decision.plan == before
    assert "cold prefills" in decision.message


def test_load_is_balanced_by_tokens_where_the_user_says_so() -> None:
    keys = tuple(f"tenant-{i:02d}" for i in range(24))
    measured = Rates(
        keys=keys,
        values=np.full(24, 0.25),
        unkeyed=0.0,
        rejected=0.0,
        time=1.0,
        prompt_tokens=np.array([4000.0 if i < 6 else 100.0 for i in range(24)]),
    )
    the_spec = replace(spec(), planning=PlanningSpec(balance=Balance.TOKENS))
    made = plan_of(step(fleet("a", "b", "c"), measured, None, the_spec))
    long_ones = [served_by(made)[key] for key in keys[:6]]
    assert sorted(len([one for one in long_ones if one == {name}]) for name in "abc") == [2, 2, 2]


def test_pools_of_different_capacity_are_used_in_proportion() -> None:
    pools = (Pool("small", 2.0, 64), Pool("large", 4.0, 128))
    where = Fleet(
        tuple(
            replace(one, pool="large" if one.name in "bdf" else "small") for one in fleet(*NAMES).destinations
        )
    )
    made = plan_of(step(where, rates(many(200)), None, replace(spec(), pools=pools)))
    load = {seat.destination: 0.0 for seat in made.seats}
    names = {seat.index: seat.destination for seat in made.seats}
    for group in made.groups:
        for seat in group.seats:
            load[names[seat]] += sum(group.rates) / len(group.seats)
    utilisation = {name: value / (4.0 if name in ("b", "d", "f") else 2.0) for name, value in load.items()}
    assert max(utilisation.values()) < 1.1 * min(utilisation.values())


def test_a_step_under_load_keeps_what_a_restart_reads_back() -> None:
    before = first()
    read = from_document(to_document(before))
    measured = rates(drifted(many(), 7))
    one, other = (plan_of(step(fleet(*NAMES), measured, each)) for each in (before, read))
    assert (one, one.revision) == (other, other.revision)


@pytest.mark.parametrize(
    "planning", [PlanningSpec(balance=Balance.TOKENS), PlanningSpec(admission=AdmissionRule.BYTES)]
)
def test_without_token_counts_the_plan_goes_by_requests_and_says_so(planning: PlanningSpec) -> None:
    the_spec = replace(spec(), planning=planning, pools=(replace(ROOMY.pools[0], kv_cache_tokens=100_000),))
    decision = step(fleet(*NAMES), rates(many()), None, the_spec)
    plain = step(fleet(*NAMES), rates(many()), None, replace(the_spec, planning=PlanningSpec()))
    assert plan_of(decision).version == plan_of(plain).version
    told = next(one for one in decision.conditions if one.type is ConditionType.RATES_AVAILABLE)
    assert (told.status, told.reason) == ("True", "NoTokens")


def test_admission_by_bytes_fits_the_kv_cache() -> None:
    the_spec = replace(
        spec(),
        planning=PlanningSpec(admission=AdmissionRule.BYTES),
        pools=(replace(ROOMY.pools[0], kv_cache_tokens=1000),),
    )
    values = many()
    length = {key: 50.0 + 10.0 * i for i, key in enumerate(values)}
    measured = replace(
        rates(values), prompt_tokens=np.array([values[key] * length[key] for key in sorted(values)])
    )
    made = plan_of(step(fleet(*NAMES), measured, None, the_spec))
    taken = sum(len(group.seats) * length[key] for key, group in made.assignments())
    assert 4000 < taken <= 6000


def test_more_traffic_than_the_fleet_carries_is_said() -> None:
    loud = rates({key: 10 * value for key, value in many().items()})
    decision = step(fleet(*NAMES), loud, None)
    planned = next(one for one in decision.conditions if one.type is ConditionType.PLANNED)
    assert (planned.status, planned.reason) == ("True", "Overloaded")
    assert "80 requests/s are asked of 6 destinations that carry 15" in planned.message
    assert (
        plan_of(decision).summary.phases[0].message.endswith("it is overloaded, more destinations are needed")
    )


def test_a_changed_override_is_the_reason_and_the_cause() -> None:
    before = first()
    the_spec = replace(spec(), overrides=(Override("tenant-001", destinations=2),))
    decision = step(fleet(*NAMES), rates(many()), before, the_spec)
    after = plan_of(decision)
    assert (decision.reason, {one.cause for one in after.changes}) == ("OverridesChanged", {MoveCause.FIXED})
    assert "1 key changed (1 Overridden)" in decision.message
    assert after.basis.overrides == the_spec.overrides


def test_an_override_for_more_destinations_than_there_are_is_told() -> None:
    the_spec = replace(spec(), overrides=(Override("tenant-001", destinations=9),))
    accepted = step(fleet(*NAMES), rates(many()), None, the_spec).conditions[0]
    assert accepted.message.endswith("asks for 9 destinations, there are 6")


def test_a_loss_in_the_step_that_plans_is_told_with_the_plan() -> None:
    before = first()
    louder = rates({key: 3.0 * value for key, value in drifted(many(), 2).items()})
    decision = step(fleet(*NAMES[:5], lost=("f",)), louder, before, now=1001.0)
    assert (decision.outcome, decision.reason) == (Outcome.INSTALLED, "DestinationLost")
    assert decision.message.startswith("f left, its keys go to their standbys; plan ")


def test_ready_says_how_requests_are_routed_in_each_mode() -> None:
    before = first()
    told = {}
    for mode in Mode:
        decision = step(fleet(*NAMES), rates(many()), before, replace(spec(), mode=mode, canary_percent=15))
        told[mode] = decision.conditions[-1].message
    assert told[Mode.ACTIVE] == "requests are routed as planned"
    assert "reported only" in told[Mode.SHADOW]
    assert told[Mode.CANARY].startswith("15 % of each planned key's requests go by plan")
    assert "held plan" in told[Mode.HOLD]


def test_a_plan_that_stays_less_even_than_allowed_says_why() -> None:
    values = {"whale": 2.0, **{f"tenant-{i}": 0.1 for i in range(9)}}
    before = plan_of(step(fleet("a", "b", "c"), rates(values), None))
    decision = step(fleet("a", "b", "c"), rates(values), before)
    planned = next(one for one in decision.conditions if one.type is ConditionType.PLANNED)
    assert "is above the allowed 1.10" in planned.message
    assert "no move or swap lowers the hottest destination" in planned.message


def test_what_is_gone_for_good_is_replaced_also_without_rates() -> None:
    before = roomy()
    lost = fleet("a", "b", "c", "d", "e", lost=("f",))
    waiting = plan_of(step(lost, NO_RATES, before, ROOMY, now=1001.0))
    decision = step(lost, NO_RATES, waiting, ROOMY, now=1001.0 + GRACE)
    assert (decision.outcome, decision.reason) == (Outcome.REPAIRED, "DestinationRetired")
    assert moved(waiting, plan_of(decision)) == set()
    assert "f" not in {seat.name for seat in plan_of(decision).seats}


def test_a_hold_drops_no_key_when_a_destination_is_retired_from_a_full_fleet() -> None:
    full = replace(spec(), pools=(Pool("h100", 2.5, 10),))
    before = plan_of(step(fleet(*NAMES), rates(many()), None, full))
    assert before.summary.slots_used == before.summary.slots_total == 60
    held = replace(full, mode=Mode.HOLD, overrides=(Override("tenant-001", OverrideRoute.COLD),))
    lost = fleet("a", "b", "c", "d", "e", lost=("f",))
    mine = {key for key, names in served_by(before).items() if names == {"f"}}
    waiting = plan_of(step(lost, rates(many()), before, held, now=1001.0))
    after = plan_of(step(lost, rates(many()), waiting, held, now=1001.0 + GRACE))
    assert (moved(before, after), served_by(after).keys()) == (mine, served_by(before).keys())


def test_overrides_that_policy_paper_does_not_look_at_are_told() -> None:
    the_spec = replace(
        spec(), planning=PlanningSpec(PolicyName.PAPER), overrides=(Override("a", OverrideRoute.COLD),)
    )
    accepted = step(fleet(*NAMES), rates(many()), None, the_spec).conditions[0]
    assert accepted.message.endswith("are not looked at by policy Paper")


def test_rates_that_outran_the_plan_are_told_and_stored() -> None:
    values = many(400)
    before = plan_of(step(fleet(*NAMES), rates(values), None, ROOMY))
    assert before.summary.cautions == ()
    quietest = min(values, key=values.__getitem__)
    after = plan_of(step(fleet(*NAMES), rates(values | {quietest: 6.0}), before, ROOMY))
    assert after.summary.cautions == (Caution.HOT_DESTINATION,)
    assert "HotDestination: a router that looks at load" in after.summary.phase("hindsight")
    assert from_document(to_document(after)).summary == after.summary


def test_traffic_without_keys_is_told() -> None:
    measured = replace(rates(many(400)), unkeyed=4.0)
    plan = plan_of(step(fleet(*NAMES), measured, None, ROOMY))
    assert plan.summary.cautions == (Caution.COLD_TRAFFIC,)
    assert "33 % of them had no destinations" in plan.summary.phase("hindsight")
