"""What a replay means, in one sentence and by key."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.experiments.ladder import mean
from cacheroute.simulation.shadow.bootstrap import Interval
from cacheroute.simulation.shadow.diagnosis import counted, diagnoses, told
from cacheroute.simulation.shadow.replay import WARMUP, Answer
from cacheroute.simulation.traces.trace import UNKNOWN

GPUS = {"8b-bf16": 1, "70b-fp8": 2, "70b-fp16": 2}
"""Of one destination."""
_GAIN = 1.05
"""Capacities that differ by less are a tie: they are found to 5 % only."""


class KeyGain(NamedTuple):
    """One key."""

    name: str
    requests: int
    flat_hit: float
    """0..1"""
    planned_hit: float
    flat_ttft: float
    """Mean, seconds."""
    planned_ttft: float
    saved: int
    """Prompt tokens that need not be computed."""


def verdict(answer: Answer) -> str:
    """Return whether affinity is worth it here, with its uncertainty."""
    ratio, low, high = capacity_ratio(answer)
    gain = answer.hit_gain
    words = _words(ratio, (low, high), gain.low)
    return (
        f"{words}: planned routing serves {abs(gain.value):.1f} points {'more' if gain.value >= 0 else 'less'} of the prompt tokens from caches (95 %: {gain.low:+.1f} to {gain.high:+.1f}) "
        f"and holds {ratio:.2f} times the load of flat routing at a p99 of {answer.question.objective:g} s (95 %: {low:.2f} to {high:.2f}); "
        f"{_gpus(answer)}."
    )


def capacity_ratio(answer: Answer) -> Interval:
    """Return planned over flat capacity with its 95 % interval over the seeds, pair by pair."""
    pairs = zip(answer.planned.capacities, answer.flat.capacities, strict=True)
    logs = mean([math.log(planned / flat) for planned, flat in pairs])
    low, high = logs.value - logs.half_width, logs.value + logs.half_width
    return Interval(math.exp(logs.value), math.exp(low), math.exp(high))


def _words(ratio: float, interval: tuple[float, float], least_gain: float) -> str:
    if ratio < 1 / _GAIN:
        return "Affinity loses here" if interval[1] < 1 else "Affinity seems to lose here"
    if ratio <= _GAIN:
        return (
            "Affinity makes no difference to capacity here"
            if least_gain <= 0
            else "Affinity saves work but no capacity here"
        )
    return (
        "Affinity is worth it here"
        if interval[0] > 1
        else "Affinity seems worth it here, but the interval includes no gain"
    )


def _gpus(answer: Answer) -> str:
    each = GPUS.get(answer.question.engine, 1)
    flat, planned = answer.flat.destinations, answer.planned.destinations
    return (
        f"for today's load flat routing needs {flat.censored}{flat.value * each:.0f} GPUs and planned routing "
        f"{planned.censored}{planned.value * each:.0f}"
    )


def keys_that_gain(answer: Answer, names: tuple[str, ...], most: int = 10) -> list[KeyGain]:
    """Return the keys whose requests find the most tokens more in caches, most first."""
    key, prompt = answer.work.key[answer.judged], answer.work.prompt[answer.judged]
    named = (key != UNKNOWN) & (key < len(names))
    size = len(names)
    saved = np.bincount(key[named], (answer.planned.cached - answer.flat.cached)[named], size)
    order = [int(one) for one in np.argsort(-saved, kind="stable")[:most] if saved[one] > 0]
    return [_gain(answer, key == one, names[one], int(saved[one]), prompt) for one in order]


def _gain(
    answer: Answer, mine: NDArray[np.bool_], name: str, saved: int, prompt: NDArray[np.int64]
) -> KeyGain:
    tokens = float(prompt[mine].sum())
    return KeyGain(
        name=name,
        requests=int(mine.sum()),
        flat_hit=float(answer.flat.cached[mine].sum()) / tokens,
        planned_hit=float(answer.planned.cached[mine].sum()) / tokens,
        flat_ttft=float(answer.flat.ttft[mine].mean()),
        planned_ttft=float(answer.planned.ttft[mine].mean()),
        saved=saved,
    )


def document(
    answer: Answer, names: tuple[str, ...], left_out: int, cautions: tuple[str, ...] = ()
) -> dict[str, object]:
    """Return everything as plain JSON types."""
    question, plan = answer.question, answer.plan
    return {
        "verdict": verdict(answer),
        "cautions": list(cautions),
        "requests": int(answer.work.arrival.size),
        "left_out": left_out,
        "requests_per_second": answer.rate,
        "destinations": question.destinations,
        "engine": question.engine,
        "policy": question.policy,
        "objective_seconds": question.objective,
        "capacity_per_destination": plan.capacity,
        "warm_slots": plan.warm,
        "interval_seconds": plan.interval_seconds,
        "seeds": question.seeds,
        "flat": _side(answer, planned=False),
        "planned": _side(answer, planned=True),
        "capacity_ratio": capacity_ratio(answer)._asdict(),
        "hit_gain_points": answer.hit_gain._asdict(),
        "p99_ratio": answer.tail_ratio._asdict(),
        "diagnosis": _diagnosis(answer, len(names)),
        "keys": [one._asdict() for one in keys_that_gain(answer, names)],
    }


def _diagnosis(answer: Answer, named: int) -> dict[str, object]:
    """Return what the operator would have said of this traffic, at its own speed, whoever routes it."""
    said = diagnoses(answer.work, answer.plan, answer.question.destinations, named=named)
    found = counted(said, WARMUP * float(answer.work.arrival[-1]))
    warnings = {name: times for name, times in found.items() if name != "intervals"}
    return {"intervals": found["intervals"], "warnings": warnings, "words": told(found)}


def _side(answer: Answer, *, planned: bool) -> dict[str, object]:
    side = answer.planned if planned else answer.flat
    figures = side.figures
    return {
        "token_hit": figures.token_hit,
        "ttft_p50_seconds": figures.ttft_p50,
        "ttft_p99_seconds": figures.ttft_p99,
        "imbalance": figures.imbalance,
        "failed": figures.failed,
        "worst_key_p99_seconds": figures.worst_key_p99,
        "fairness": figures.fairness,
        "capacity_requests_per_second": side.capacity.value,
        "capacity_half_width": side.capacity.half_width,
        "capacity_censored": side.censored,
        "destinations_needed": side.destinations.value,
        "gpus_needed": side.destinations.value * GPUS.get(answer.question.engine, 1),
    }
