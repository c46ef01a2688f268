"""All studies of the trace paper's figures, and a small version of each."""

from collections.abc import Sequence
from dataclasses import replace

from cacheroute.simulation.year.caching import CachingStudy
from cacheroute.simulation.year.production import ProductionStudy
from cacheroute.simulation.year.routing import RoutingStudy, over_caches, over_fleets
from cacheroute.simulation.year.workload import V32, WORKLOADS

YearStudy = CachingStudy | ProductionStudy | RoutingStudy
SMALL = 3_000
"""Requests of a small version."""


def year_studies(*, quick: bool = False, only: Sequence[str] = ()) -> list[YearStudy]:
    """Return the studies in their order.

    Args:
        quick: few requests, one seed: shows that everything works, says nothing of the paper.
        only: names, or first words of names, of those that are wanted; all where empty. Others are left out.
    """
    every: list[YearStudy] = [
        *(CachingStudy(one) for one in WORKLOADS),
        ProductionStudy(V32),
        *(over_caches(one) for one in WORKLOADS),
        *(over_fleets(one) for one in WORKLOADS),
    ]
    chosen = [one for one in every if not only or one.name in only or one.name.split()[0] in only]
    return [replace(one, requests=SMALL, seeds=1) for one in chosen] if quick else chosen
