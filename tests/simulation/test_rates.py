"""Rates of the past: exactly the window, and nothing of the present."""

import numpy as np

from cacheroute.simulation.routing.rates import past_rates

ARRIVAL = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
KEY = np.array([0, 1, 0, 1, 1, 2])


def test_a_request_at_the_beginning_of_the_window_counts_and_one_at_its_end_does_not() -> None:
    assert past_rates(ARRIVAL, KEY, now=5.0, window=2.0, keys=3).tolist() == [0.0, 1.0, 0.0]
    assert past_rates(ARRIVAL, KEY, now=5.5, window=2.0, keys=3).tolist() == [0.0, 0.5, 0.5]


def test_before_a_whole_window_is_over_the_time_since_the_beginning_counts() -> None:
    assert past_rates(ARRIVAL, KEY, now=4.0, window=300.0, keys=4).tolist() == [0.5, 0.5, 0.0, 0.0]
