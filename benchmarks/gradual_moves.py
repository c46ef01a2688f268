"""Would a key that moves over several steps find its new destination warmer? `python -m benchmarks.gradual_moves`.

Two simulated engines (Llama 70B in fp8 on two H100) serve keys of Zipf rates, whose prefixes fill three quarters of their
caches. After WARM seconds some keys of the first one move to the second: 1/n of their requests in the first step,
2/n in the next, until all have moved. One line for each case; docs/decisions/0011-no-gradual-moves.md reads them.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from cacheroute.simulation.engine_model.model import EngineModel, EngineTiming
from cacheroute.simulation.engine_model.requests import EngineRequest, LiveRequest
from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS

MODEL = SERVING_MODELS["70b-fp8"]
BLOCK = 16
WARM, STEP, WATCHED = 90.0, 30.0, 120.0
"""Seconds: before the move, of one step, and in which requests are compared, whatever the number of steps."""
SUFFIX, OUTPUT = 256, 64
"""Tokens that no other request has, and tokens of the answer."""
ZIPF, FULL, SMALL_SHARE = 0.8, 0.75, 0.1
SEEDS, STEPS = 12, (1, 2, 4)

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Case:
    """What is moved.

    Attributes:
        prefix: tokens that all requests of a key begin with.
        rate: requests/s of each engine before the move.
        hot: requests/s of one more key on the first engine, which is moved; 0 where there is none.
        largest: the largest key is moved, else small ones with a tenth of the rate.
        raised: it is not moved but gets the second engine beside the first: each request goes to the less loaded one.
    """

    prefix: int
    rate: float
    hot: float
    largest: bool
    raised: bool = False


CASES = (
    *(
        Case(prefix, rate, 0.0, largest)
        for prefix, rate in ((2048, 6.0), (8192, 4.0), (24576, 2.0))
        for largest in (True, False)
    ),
    *(Case(prefix, 1.0, 1.25, True) for prefix in (8192, 24576)),
    *(Case(prefix, 1.0, 1.25, True, raised=True) for prefix in (8192, 24576)),
)


def homes(case: Case, random: np.random.Generator) -> tuple[dict[Key, float], dict[Key, float]]:
    """Return the rates of the keys of both engines, requests/s."""
    number = max(3, int(FULL * MODEL.kv_tokens / case.prefix))
    weights = random.permutation(1.0 / np.arange(1, number + 1) ** ZIPF)
    rates = (weights / weights.sum() * case.rate).tolist()
    first, second = ({(name, i): rate for i, rate in enumerate(rates)} for name in ("first", "second"))
    return (first | ({("hot", 0): case.hot} if case.hot else {})), second


def moving(case: Case, rates: Mapping[Key, float]) -> set[Key]:
    """Return the keys that move."""
    order = sorted(rates, key=lambda key: (-rates[key], key))
    if case.largest:
        return set(order[:1])
    chosen: set[Key] = set()
    for key in order[len(order) // 3 :]:
        if sum(rates[one] for one in chosen) < SMALL_SHARE * case.rate:
            chosen.add(key)
    return chosen


def arrivals(rates: Mapping[Key, float], random: np.random.Generator) -> Iterator[tuple[float, Key]]:
    """Yield Poisson arrivals of each key."""
    for key, rate in rates.items():
        now = float(random.exponential(1.0 / rate))
        while now < WARM + WATCHED:
            yield now, key
            now += float(random.exponential(1.0 / rate))


def request(case: Case, key: Key, serial: int) -> EngineRequest:
    """Return a request whose prefix is its key's and whose rest is its own."""
    own = range((SUFFIX + OUTPUT) // BLOCK + 1)
    hashes = [(key, i) for i in range(case.prefix // BLOCK)] + [((str(serial), serial), i) for i in own]
    return EngineRequest(case.prefix + SUFFIX, OUTPUT, hashes)


def run(case: Case, steps: int, seed: int) -> tuple[list[LiveRequest], list[LiveRequest]]:
    """Return the watched requests of the keys that moved, and all others of the engine that they moved to."""
    random = np.random.default_rng(seed)
    first, second = homes(case, random)
    moved = moving(case, first)
    events = sorted(
        (now, key, key in second) for rates in (first, second) for now, key in arrivals(rates, random)
    )
    engines = [
        EngineModel(EngineLimits(MODEL.kv_tokens // BLOCK), EngineTiming(MODEL.costs)) for _ in range(2)
    ]
    watched: tuple[list[LiveRequest], list[LiveRequest]] = ([], [])
    for serial, (now, key, at_second) in enumerate(events):
        share = (1 + int((now - WARM) / STEP)) / steps if key in moved and now >= WARM else 0.0
        for engine in engines:
            engine.advance(now)
        busy = [engine.state().running + engine.state().waiting for engine in engines]
        if case.raised and share:
            share = (np.sign(busy[0] - busy[1]) + 1) / 2
        place = int(at_second or random.random() < share)
        live = engines[place].submit(request(case, key, serial), now)
        if now >= WARM and (key in moved or place):
            watched[key not in moved].append(live)
    for engine in engines:
        engine.advance(float("1e9"))
    return watched


def figures(requests: list[LiveRequest]) -> dict[str, float]:
    """Return the time to the first token, milliseconds, and the token-weighted hit, percent."""
    wait = np.array([1000 * (live.first_token - live.arrived) for live in requests])
    hit = sum(live.cached_tokens for live in requests) / sum(live.request.prompt_tokens for live in requests)
    return {
        "requests": len(requests),
        "ttft_mean": round(float(wait.mean()), 1),
        "ttft_p50": round(float(np.median(wait)), 1),
        "ttft_p99": round(float(np.percentile(wait, 99)), 1),
        "hit": round(100 * hit, 1),
    }


def main() -> None:
    """Print one JSON line for each case and number of steps."""
    for case in CASES:
        for steps in STEPS[:1] if case.raised else STEPS:
            runs = [run(case, steps, seed) for seed in range(SEEDS)]
            moved, others = ([live for one in runs for live in one[side]] for side in (0, 1))
            line = {**asdict(case), "steps": steps}
            sys.stdout.write(json.dumps({**line, "moved": figures(moved), "others": figures(others)}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
