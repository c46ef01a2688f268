"""One simulation of a series as a value, and what it gives."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.experiments.traffic import Traffic, make
from cacheroute.simulation.fleet.figures import FleetFigures, fleet_figures
from cacheroute.simulation.fleet.simulate import FleetSettings, simulate
from cacheroute.simulation.fleet.state import Done, Work

Span = tuple[float, float]
"""From, to, in seconds of the trace's clock."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One simulation.

    Attributes:
        traffic: the requests, made up or given.
        fleet: who serves and routes them.
        warmup: requests that arrive before this time are not judged, seconds.
        spans: parts of the time whose token hit and tail are told apart.
    """

    traffic: Traffic | Work
    fleet: FleetSettings
    warmup: float
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a cell gives.

    Attributes:
        figures: of all requests after the warm-up.
        hits: token hit in each span of the cell.
        tails: 99th percentile of the time to the first token in each span, seconds.
    """

    figures: FleetFigures
    hits: tuple[float, ...] = ()
    tails: tuple[float, ...] = ()


def run_cell(cell: Cell) -> Outcome:
    """Simulate; equal cells give equal outcomes to the bit, in whatever process.

    Raises:
        SimulationError: a setting is out of range.
    """
    before: NDArray[np.float64] | None = None
    if isinstance(cell.traffic, Traffic):
        work, before = make(cell.traffic)
    else:
        work = cell.traffic
    done = simulate(work, cell.fleet, before if cell.fleet.plan is not None else None)
    figures = fleet_figures(work, done, cell.fleet.destinations, cell.warmup)
    return Outcome(
        figures,
        tuple(_hit(work, done, span) for span in cell.spans),
        tuple(_tail(work, done, span) for span in cell.spans),
    )


def with_load(cell: Cell, rate: float) -> Cell:
    """Return the cell at another rate of its made-up traffic, requests/s."""
    if not isinstance(cell.traffic, Traffic):
        raise TypeError("only made-up traffic has a rate")
    return replace(cell, traffic=replace(cell.traffic, rate=rate))


def with_seed(cell: Cell, seed: int) -> Cell:
    """Return the cell with another seed of its made-up traffic and its policy."""
    if not isinstance(cell.traffic, Traffic):
        raise TypeError("only made-up traffic has a seed")
    return replace(cell, traffic=replace(cell.traffic, seed=seed), fleet=replace(cell.fleet, seed=seed))


def _inside(work: Work, span: Span) -> slice:
    begin, end = np.searchsorted(work.arrival, span)
    return slice(int(begin), int(end))


def _hit(work: Work, done: Done, span: Span) -> float:
    here = _inside(work, span)
    return float(done.cached[here].sum() / max(1, work.prompt[here].sum()))


def _tail(work: Work, done: Done, span: Span) -> float:
    here = _inside(work, span)
    waits = done.first_token[here] - work.arrival[here]
    waits = np.where(np.isnan(waits), np.inf, waits)
    return float(np.percentile(waits, 99, method="higher")) if waits.size else 0.0
