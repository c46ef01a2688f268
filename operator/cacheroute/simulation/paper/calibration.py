"""The numbers that the paper does not give, fitted once to table 1 and used for every other row.

`make calibrate` finds them and writes data/calibration.json with how they were found; nothing else is ever fitted.
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS, StepCosts
from cacheroute.simulation.fleet.simulate import FleetSettings
from cacheroute.simulation.routing.planner import Planner, PlanSettings
from cacheroute.simulation.routing.registry import Policy
from cacheroute.simulation.workloads.tenants import Prompts

NAME = "calibration.json"
PAPER_KV_TOKENS = 641_136
"""KV cache of the paper's pair of H100 with the 70B model, tokens."""
CAPACITY = {"70b-fp8": 6.0, "70b-fp16": 3.0, "8b-bf16": 18.0}
"""q_cap of a destination, requests/s: about its share of the highest load that CacheRoute holds in the paper."""
WARM = 5
"""Warm slots of a destination (W): 30 of them have room for the 128 keys of table 1 and not for 256."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is fitted.

    Attributes:
        slowdown: computing a token takes so many times as long as the operators were measured to take.
        prompts: sizes of the parts of a prompt, and output tokens.
    """

    slowdown: float
    prompts: Prompts


@cache
def stored() -> dict[str, Any]:
    """Return data/calibration.json: the numbers, and how they were found."""
    found: dict[str, Any] = json.loads(
        files("cacheroute.simulation.paper").joinpath(f"data/{NAME}").read_bytes()
    )
    return found


def calibration() -> Calibration:
    """Return the numbers that every table is simulated with."""
    found = stored()
    return Calibration(float(found["slowdown"]), Prompts(**found["prompts"]))


def slowed(costs: StepCosts, slowdown: float) -> StepCosts:
    """Return step costs with tokens that take longer; reading the weights and attention stay."""
    return replace(
        costs, per_token=costs.per_token * slowdown, extra_per_token=costs.extra_per_token * slowdown
    )


def fleet(model: str, slowdown: float, destinations: int = 30) -> FleetSettings:
    """Return a fleet of the paper's engines, routed flat."""
    serving = SERVING_MODELS[model]
    tokens = PAPER_KV_TOKENS if model == "70b-fp8" else serving.kv_tokens
    return FleetSettings(
        policy=Policy.FLAT,
        destinations=destinations,
        limits=EngineLimits(blocks=tokens // 16),
        costs=slowed(serving.costs, slowdown),
    )


def plan(model: str, seconds: float) -> PlanSettings:
    """Return how plans are made: one from the rates before, which is not made again within ``seconds``."""
    return PlanSettings(
        Planner.PAPER, CAPACITY[model], WARM, interval_seconds=seconds, window_seconds=seconds
    )
