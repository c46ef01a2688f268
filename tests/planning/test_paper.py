"""Cases that a reader can follow by hand."""

import warnings

import numpy as np

from cacheroute.planning.paper import plan_paper
from cacheroute.planning.types import Demand, Fleet, Policy


def fleet(size: int, warm: int, capacity: float = 1.0) -> Fleet:
    return Fleet(np.full(size, capacity), np.full(size, warm, dtype=np.int64))


def test_it_is_a_policy() -> None:
    policy: Policy = plan_paper
    assert policy(Demand(np.ones(1)), fleet(1, 1), None).admitted.tolist() == [0]


def test_longest_processing_time() -> None:
    made = plan_paper(Demand(np.array([0.9, 0.8, 0.5, 0.4])), fleet(2, 2))
    assert made.members.tolist() == [0, 1, 1, 0]
    assert np.allclose(made.load, [1.3, 1.3])


def test_cold_traffic_loads_every_destination_alike() -> None:
    made = plan_paper(Demand(np.array([0.5, 0.3, 0.3]), unkeyed=0.2), Fleet(np.ones(2), np.array([1, 0])))
    assert np.allclose(made.load, [0.9, 0.4])
    assert np.isclose(made.report.coverage, 0.5 / 1.3)


def test_a_key_hotter_than_the_fleet_takes_all_of_it_and_is_reported() -> None:
    made = plan_paper(Demand(np.array([9.0, 2.9])), fleet(3, 4))
    assert made.members[:3].tolist() == [0, 1, 2]
    assert made.standby[0] == -1
    assert made.report.overloaded.tolist() == [0]


def test_on_unequal_destinations_the_larger_carries_more() -> None:
    where = Fleet(np.array([1.0, 2.0]), np.array([15, 15], dtype=np.int64))
    made = plan_paper(Demand(np.full(30, 0.1)), where)
    assert np.allclose(made.load, [1.0, 2.0], atol=0.05)


def test_no_slots_and_no_traffic_are_plans_too() -> None:
    assert plan_paper(Demand(np.ones(3)), fleet(2, 0)).admitted.size == 0
    silent = plan_paper(Demand(np.zeros(3)), fleet(2, 1))
    assert silent.admitted.tolist() == [0, 1]
    assert silent.report.imbalance == silent.report.coverage == 0
    assert plan_paper(Demand(np.empty(0)), fleet(2, 1)).load.tolist() == [0, 0]


def test_extreme_numbers_neither_warn_nor_fail() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = plan_paper(Demand(np.array([1e307, 5e-324])), fleet(3, 2, capacity=1e-300))
    assert made.members.tolist() == [0, 1, 2, 0]
    assert np.isclose(made.report.imbalance, 1)
