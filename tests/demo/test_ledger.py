"""A policy's course, interval by interval."""

from dataclasses import replace

import pytest

from cacheroute.demo.ledger import Course, Ledger
from cacheroute.demo.tally import Fate, Record
from cacheroute.domain.spec import PolicyName
from tests.demo.test_shift import plan

COURSE = Course(seconds=10, warm=2, counted=3)


def ledger() -> Ledger:
    return Ledger(PolicyName.STABLE, COURSE, engines=2)


def record(sent: float, destination: str = "engine-0", cached: int = 50) -> Record:
    return Record(
        "Stable",
        sent,
        1,
        Fate.ANSWERED,
        destination,
        first_token=0.1,
        prompt_tokens=100,
        cached_tokens=cached,
    )


def test_a_course_knows_its_intervals() -> None:
    assert (COURSE.intervals, COURSE.total) == (5, 50.0)
    assert [COURSE.at(seconds) for seconds in (0.0, 9.9, 10.0, 49.9, 55.0)] == [0, 0, 1, 4, 4]


def test_warm_intervals_do_not_count() -> None:
    book = ledger()
    for sent, cached in ((5.0, 0), (15.0, 0), (20.0, 60), (30.0, 80), (45.0, 100)):
        book.add(record(sent, cached=cached))
    arm = book.arm()
    assert (arm.figures.requests, arm.figures.hit_percent) == (3, 80.0)
    assert [row.figures.hit_percent for row in arm.rows] == [60.0, 80.0, 100.0]
    assert [book.row(number).counted for number in range(5)] == [False, False, True, True, True]
    assert len(book.everything()) == 5


def test_the_load_is_compared_within_each_interval() -> None:
    book = ledger()
    for sent, destination in ((21.0, "engine-0"), (31.0, "engine-1"), (41.0, "engine-0"), (42.0, "engine-1")):
        book.add(record(sent, destination))
    assert book.arm().figures.max_over_mean == 1.0
    assert book.arm().max_over_mean == pytest.approx((2 + 2 + 1) / 3)


def test_moves_count_in_the_interval_in_which_the_plan_came() -> None:
    book = ledger()
    first, second = plan({"a": 0, "b": 1}), plan({"a": 1, "b": 1})
    for seconds, seen in ((1.0, None), (11.0, first), (12.0, first), (21.0, first), (31.0, second)):
        book.see(seconds, seen)
    assert {number: len(seen) for number, seen in book.plans.items()} == {1: 1, 3: 1}
    arm = book.arm()
    assert [row.shift.moved for row in arm.rows] == [0, 1, 0]
    assert arm.moved == pytest.approx(1 / 3)
    assert arm.moved_percent == pytest.approx(50 / 3)
    assert arm.cold_percent == pytest.approx(50 / 3)


def test_failures_count_in_warm_intervals_too() -> None:
    book = ledger()
    book.add(replace(record(1.0), fate=Fate.FAILED))
    assert book.failed == book.arm().failed == 1
