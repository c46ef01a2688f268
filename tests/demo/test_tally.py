"""Figures of a phase."""

import math

import pytest

from cacheroute.demo.tally import Fate, Record, Tally, figures, percentile


def record(destination: str = "a", fate: Fate = Fate.ANSWERED, **more: float) -> Record:
    return Record(
        phase="flat",
        sent=more.get("sent", 0.0),
        tenant=int(more.get("tenant", 0)),
        fate=fate,
        destination=destination,
        decision="cold",
        first_token=more.get("first_token", 0.1),
        prompt_tokens=int(more.get("prompt", 100)),
        cached_tokens=int(more.get("cached", 50)),
        lag=more.get("lag", 0.001),
    )


def test_the_hit_is_weighted_by_tokens() -> None:
    assert figures([record(prompt=300, cached=300), record(prompt=100, cached=0)], 2).hit_percent == 75.0


def test_load_is_compared_with_the_mean_of_all_destinations() -> None:
    assert figures([record("a"), record("a"), record("b")], destinations=4).max_over_mean == pytest.approx(
        8 / 3
    )


def test_only_answered_requests_count() -> None:
    found = figures([record(), record(fate=Fate.CUT), record(fate=Fate.FAILED)], 1)
    assert found.requests == 1
    assert found.decisions == {"cold": 1}


def test_times_are_milliseconds_by_nearest_rank() -> None:
    found = figures([record(first_token=i / 1000, lag=i / 10_000) for i in range(1, 101)], 1)
    assert found.ttft_p50_ms == pytest.approx(50)
    assert found.ttft_p99_ms == pytest.approx(99)
    assert found.lag_p99_ms == pytest.approx(9.9)


def test_nothing_answered_gives_no_times() -> None:
    found = figures([], 3)
    assert (found.requests, found.hit_percent, found.max_over_mean) == (0, 0.0, 0.0)
    assert math.isnan(found.ttft_p99_ms)


def test_percentiles_of_one_value() -> None:
    assert percentile([7.0], 0) == percentile([7.0], 50) == percentile([7.0], 100) == 7.0


def test_a_phase_can_leave_out_its_start() -> None:
    tally = Tally()
    for sent in (0.0, 5.0, 9.0):
        tally.add(record(sent=sent))
    assert [one.sent for one in tally.phase("flat", after=5.0)] == [5.0, 9.0]
    assert tally.phase("planned") == []
    assert tally.fates == {Fate.ANSWERED: 3}
