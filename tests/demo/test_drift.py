"""Drifting rates."""

import numpy as np
import pytest

from cacheroute.demo.drift import SIGMA_PER_INTERVAL, drifting_arrivals, walk
from cacheroute.demo.workload import MAX_SHARE, shares


def test_the_walk_starts_as_the_plain_demonstration_and_keeps_the_total() -> None:
    share = walk(900, 12, seed=1)
    assert share.shape == (12, 900)
    assert share[0].tolist() == shares(900, 1).tolist()
    assert share.sum(axis=1) == pytest.approx(np.ones(12))
    assert share.max() <= MAX_SHARE * 1.001


def test_the_walk_is_the_same_for_the_same_seed_only() -> None:
    assert walk(50, 5, seed=3).tolist() == walk(50, 5, seed=3).tolist()
    assert walk(50, 5, seed=3).tolist() != walk(50, 5, seed=4).tolist()


def test_each_step_of_a_log_rate_has_the_papers_deviation() -> None:
    share = walk(9000, 4, seed=1)
    uncapped = (share < 0.9 * MAX_SHARE).all(axis=0)
    steps = np.diff(np.log(share[:, uncapped]), axis=0)
    assert steps.std(axis=1) == pytest.approx(SIGMA_PER_INTERVAL, rel=0.05)
    assert abs(np.corrcoef(steps[0], steps[1])[0, 1]) < 0.05


def test_arrivals_are_the_same_for_both_policies_and_follow_the_shares() -> None:
    share = np.array([[1.0, 0.0], [0.0, 1.0]])
    one, other = (drifting_arrivals(share, rate=50.0, interval=10.0, seed=7) for _ in range(2))
    assert (one.seconds.tolist(), one.tenant.tolist()) == (other.seconds.tolist(), other.tenant.tolist())
    assert (np.diff(one.seconds) >= 0).all()
    assert (one.tenant == (one.seconds >= 10.0)).all()
    assert 400 < (one.seconds < 10.0).sum() < 600
    assert 400 < (one.seconds >= 10.0).sum() < 600


def test_intervals_do_not_repeat_each_other() -> None:
    schedule = drifting_arrivals(np.array([[1.0], [1.0]]), rate=5.0, interval=10.0, seed=7)
    first, second = schedule.seconds[schedule.seconds < 10.0], schedule.seconds[schedule.seconds >= 10.0]
    assert first.round(6).tolist() != (second - 10.0).round(6).tolist()
