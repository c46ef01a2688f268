"""Measures of plans, by hand."""

import numpy as np
import pytest

from cacheroute.planning.measures import churn, imbalance, rewarm_rate
from cacheroute.planning.report import PlanReport
from cacheroute.planning.types import Plan


def plan(assigned: dict[int, list[int]]) -> Plan:
    counts = [len(members) for members in assigned.values()]
    return Plan(
        admitted=np.array(list(assigned), dtype=np.int64),
        offsets=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        members=np.array([r for members in assigned.values() for r in members], dtype=np.int64),
        standby=np.full(len(assigned), -1, dtype=np.int64),
        load=np.zeros(3),
        report=PlanReport(0, 0, 0, 0, 0, 0.0, 0.0, 0.0, np.empty(0, dtype=np.int64)),
    )


def test_churn_is_one_minus_the_shared_part_of_all_pairs() -> None:
    assert churn(plan({0: [0, 1], 1: [2]}), plan({1: [2], 0: [0, 2]}), 3) == pytest.approx(1 - 2 / 4)


def test_churn_between_empty_plans_is_nothing() -> None:
    assert churn(plan({}), plan({}), 3) == 0


def test_the_rate_that_lands_cold_is_the_share_of_new_destinations() -> None:
    rate = np.array([4.0, 3.0, 1.0])
    before, after = plan({0: [0], 1: [1]}), plan({0: [0, 1], 1: [1], 2: [2]})
    assert rewarm_rate(before, after, rate, 3) == pytest.approx((2 + 1) / 8)


def test_without_traffic_nothing_lands_cold() -> None:
    assert rewarm_rate(plan({}), plan({0: [1]}), np.zeros(1), 3) == 0


def test_imbalance_is_of_utilisation() -> None:
    assert imbalance(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 1
    assert imbalance(np.array([3.0, 1.0]), np.array([1.0, 1.0])) == 1.5
    assert imbalance(np.zeros(2), np.ones(2)) == 0


def test_coverage_is_the_admitted_share_and_nothing_without_traffic() -> None:
    assert PlanReport(2, 1, 0, 1, 1, 3.0, 4.0, 1.0, np.empty(0, dtype=np.int64)).coverage == 0.75
    assert PlanReport(0, 0, 0, 0, 1, 0.0, 0.0, 0.0, np.empty(0, dtype=np.int64)).coverage == 0
