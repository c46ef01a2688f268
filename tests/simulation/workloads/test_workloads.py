"""Made-up traffic has the properties that it is made for."""

import numpy as np
import pytest

from cacheroute.simulation.describe.skew import gini
from cacheroute.simulation.workloads.arrivals import Arrivals, arrivals, resampled
from cacheroute.simulation.workloads.rates import PAPER_KEYS, drifted, highest_shares, with_whales
from cacheroute.simulation.workloads.tenants import Prompts, tenants


def test_the_papers_keys_are_as_skewed_as_the_papers() -> None:
    shares = highest_shares(PAPER_KEYS)
    assert gini(shares) == pytest.approx(0.756, abs=0.01)
    assert shares[: int(0.04 * PAPER_KEYS)].sum() == pytest.approx(0.465, abs=0.015)
    assert shares[0] <= 0.003


def test_whales_have_the_head() -> None:
    shares = with_whales(highest_shares(128), 3, 0.45)
    assert shares[:3].sum() == pytest.approx(0.45)
    assert shares.sum() == pytest.approx(1.0)


def test_drift_keeps_the_sum_and_moves_the_shares() -> None:
    before = highest_shares(128)
    after = drifted(before, 0.3, seed=1)
    assert after.sum() == pytest.approx(1.0)
    steps = np.log(after / before)
    assert float(np.std(steps)) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("process", list(Arrivals))
def test_arrivals_have_their_rate_and_variation(process: Arrivals) -> None:
    times = arrivals(process, 50.0, 2000.0, np.random.default_rng(0), variation=1.9)
    gaps = np.diff(times)
    assert times.size == pytest.approx(100_000, rel=0.03)
    expected = 1.0 if process is Arrivals.POISSON else 1.9
    assert gaps.std() / gaps.mean() == pytest.approx(expected, rel=0.05)


def test_resampled_gaps_keep_their_shape_at_another_rate() -> None:
    random = np.random.default_rng(0)
    measured = random.gamma(0.2, 1.0, 20_000)
    gaps = np.diff(resampled(measured, 30.0, 1000.0, random))
    assert 1.0 / gaps.mean() == pytest.approx(30.0, rel=0.1)
    assert gaps.std() / gaps.mean() == pytest.approx(measured.std() / measured.mean(), rel=0.1)


def test_prompts_share_exactly_their_parts() -> None:
    prompts, random = Prompts(64, 32, 48, documents=3, turn=20, output=30), np.random.default_rng(0)
    work = tenants(np.arange(400.0), np.array([0.5, 0.5]), prompts, random)
    blocks = [work.contents[work.first_block[i] : work.first_block[i + 1]].tolist() for i in range(400)]
    assert all(len(one) * 16 >= int(work.prompt[i] + work.output[i]) for i, one in enumerate(blocks))
    assert len({tuple(one[:4]) for one in blocks}) == 1
    assert len({tuple(one[:6]) for one in blocks}) == 2
    assert len({tuple(one[:9]) for one in blocks}) == 6
    assert len({one[9] for one in blocks}) == 400


def test_gini_of_simple_cases() -> None:
    assert gini(np.ones(10)) == pytest.approx(0.0)
    assert gini(np.array([0.0, 0.0, 0.0, 1.0])) == pytest.approx(0.75)
    assert gini(np.zeros(3)) == 0.0
