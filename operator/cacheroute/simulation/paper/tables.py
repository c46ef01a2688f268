"""The paper's tables of loads and policies, as ladder studies."""

from dataclasses import replace

from cacheroute.simulation.experiments.cell import Cell
from cacheroute.simulation.experiments.ladder import LADDER_8B, LADDER_70B
from cacheroute.simulation.experiments.traffic import Traffic, Whales
from cacheroute.simulation.paper.calibration import Calibration, fleet, plan
from cacheroute.simulation.paper.ladder_study import LadderStudy
from cacheroute.simulation.workloads.arrivals import Arrivals

SECONDS, WARMUP = 60.0, 20.0
"""Length of one simulation, and its part that is not judged."""
SIX = ("flat", "sticky", "chwbl", "dualmap", "preble", "cacheroute")
ABLATION = ("flat", "affinity", "affinity+replication", "affinity+replication+lpt")
WHALES = Whales(keys=4, head=0.35)
"""The paper does not say how heavy its whales are: four keys with 35 % of the traffic give its imbalance without
placement."""


def base(found: Calibration, model: str, keys: int, destinations: int = 30) -> Cell:
    """Return the simulation that tables vary."""
    traffic = Traffic(keys, 100.0, SECONDS, found.prompts)
    return Cell(traffic, fleet(model, found.slowdown, destinations), WARMUP)


def table_1(found: Calibration) -> LadderStudy:
    """Return the main comparison."""
    return LadderStudy(
        name="T1",
        title="70B fp8, 128 keys",
        about="Thirty destinations of two H100 each. The two capacities at 3.5 s of Flat-LB and CacheRoute, and their hits, are what was calibrated; everything else follows. Routers that look at caches (DualMap, Preble) see them exactly and without delay here, which real ones do not.",
        setting="70B fp8 K128 n=5",
        cell=base(found, "70b-fp8", 128),
        plan=plan("70b-fp8", 2 * SECONDS),
        policies=(*SIX, "stable"),
        ladder=LADDER_70B,
        seeds=5,
        common=100.0,
        objectives=(3.5, 5.0, 2.0),
    )


def table_3(found: Calibration, keys: int) -> LadderStudy:
    """Return the 8B model with so many keys."""
    return LadderStudy(
        name=f"T3 K={keys}",
        title=f"8B, {keys:,} keys",
        about="Thirty destinations of one H100. No number is fitted to this table.",
        setting=f"8B bf16 K{keys}",
        cell=base(found, "8b-bf16", keys),
        plan=plan("8b-bf16", 2 * SECONDS),
        policies=SIX,
        ladder=LADDER_8B,
        seeds=5,
        common=100.0,
    )


def table_4(found: Calibration) -> LadderStudy:
    """Return the ablation with whales."""
    cell = base(found, "8b-bf16", 128)
    traffic = replace(cell.traffic, whales=WHALES) if isinstance(cell.traffic, Traffic) else cell.traffic
    return LadderStudy(
        name="T4",
        title="8B with whales: what each part of the planner gives",
        about=f"{WHALES.keys} keys have {WHALES.head:.0%} of the traffic. Hit and max/mean are read at 240 requests/s.",
        setting="8B whales K128 n=3",
        cell=replace(cell, traffic=traffic),
        plan=replace(plan("8b-bf16", 2 * SECONDS), capacity=8.0),
        policies=(*ABLATION, "stable"),
        ladder=LADDER_8B,
        seeds=5,
        common=240.0,
    )


def table_9(found: Calibration) -> LadderStudy:
    """Return the wide set of keys."""
    return LadderStudy(
        name="T9",
        title="70B fp8, 256 keys",
        about="Twice as many keys as the warm slots are meant for.",
        setting="70B fp8 K256 n=8",
        cell=base(found, "70b-fp8", 256),
        plan=plan("70b-fp8", 2 * SECONDS),
        policies=("flat", "dualmap", "cacheroute", "stable"),
        ladder=LADDER_70B,
        seeds=5,
        common=100.0,
        objectives=(3.5, 5.0),
    )


def table_10(found: Calibration, process: Arrivals) -> LadderStudy:
    """Return arrivals that come in bursts (tables 10 and 11)."""
    name, setting, variation = {
        Arrivals.POISSON: ("T10 Poisson", "70B Poisson", 1.0),
        Arrivals.GAMMA: ("T10 Gamma", "70B Gamma CV1.9", 1.9),
        Arrivals.BOOTSTRAP: ("T11", "70B block bootstrap CV2.73", 2.73),
    }[process]
    cell = base(found, "70b-fp8", 128)
    traffic = (
        replace(cell.traffic, arrivals=process, variation=variation)
        if isinstance(cell.traffic, Traffic)
        else cell.traffic
    )
    return LadderStudy(
        name=name,
        title=f"70B fp8, 128 keys, arrivals {process.value}, CV {variation:g}",
        about="The paper's own series of gaps is not public: the bootstrap takes blocks of a made series with its CV."
        if process is Arrivals.BOOTSTRAP
        else "Arrivals of the whole fleet.",
        setting=setting,
        cell=replace(cell, traffic=traffic),
        plan=plan("70b-fp8", 2 * SECONDS),
        policies=("flat", "cacheroute", "stable"),
        ladder=LADDER_70B,
        seeds=5,
        common=100.0,
    )
