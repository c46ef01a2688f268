"""Quantiles without the numbers."""

import numpy as np
import pytest

from cacheroute.simulation.describe.histogram import QUANTILES, Histogram


@pytest.mark.parametrize("most", [50, 2_047, 100_000, 2**45])
def test_quantiles_are_those_of_the_numbers(most: int) -> None:
    numbers = (np.random.default_rng(2).random(5_000) ** 3 * most).astype(np.int64)
    histogram = Histogram()
    for part in np.array_split(numbers, 7):
        histogram.add(part)
    found = histogram.document()
    assert found is not None
    assert found["mean"] == pytest.approx(numbers.mean())
    for name, share in QUANTILES.items():
        exact = float(np.quantile(numbers, share, method="inverted_cdf"))
        assert found[name] == pytest.approx(exact, rel=0 if most < 2_048 else 1e-3), name
    curve = np.array(histogram.curve())
    assert curve[-1, 1] == 1.0
    assert curve[0, 0] == pytest.approx(numbers.min(), rel=1e-3)
    assert len(curve) <= 200


def test_without_numbers_there_is_nothing_to_say() -> None:
    assert Histogram().document() is None
    assert Histogram().curve() == []
