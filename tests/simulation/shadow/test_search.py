"""Searches find the edge, and say where it lies beyond what was tried."""

import pytest

from cacheroute.simulation.shadow.search import FASTEST, PRECISION, SLOWEST, fewest, most


@pytest.mark.parametrize("edge", [0.05, 0.7, 1.0, 1.3, 20.0])
def test_the_most_that_holds(edge: float) -> None:
    found = most(lambda speed: speed <= edge)
    assert edge / PRECISION <= found.value <= edge
    assert not found.censored


def test_edges_beyond_what_is_tried() -> None:
    assert most(lambda _speed: True) == (FASTEST, "≥")
    assert most(lambda _speed: False) == (SLOWEST, "<")


@pytest.mark.parametrize(("edge", "start"), [(1, 8), (5, 8), (8, 8), (9, 8), (100, 8)])
def test_the_fewest_that_hold(edge: int, start: int) -> None:
    assert fewest(lambda size: size >= edge, start, 128) == (edge, "")


def test_no_fleet_that_is_tried_holds() -> None:
    assert fewest(lambda _size: False, 8, 64) == (64, "≥")
