"""How long one engine step takes, for the models that can be simulated.

The slopes come from public measurements of H100 operators, the constant parts from a public calibrated simulator;
the gain of 1.7 of fp8 matrix products is an assumption.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class StepLoad:
    """What one step computes."""

    tokens: int
    """Tokens computed, prefill and decode together."""
    decodes: int
    """Sequences that decode one token."""
    decode_context: int
    """Sum of the context lengths of the decoding sequences, in tokens."""
    prefill_work: float
    """Sum over the prefill chunks of new tokens times the context in the middle of the chunk, in tokens squared."""


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Coefficients of the step time, all in milliseconds."""

    weights_floor: float
    """Time to read the weights once: no step is shorter."""
    per_token: float
    """Matrix products, per token; hidden under ``weights_floor`` while the batch is small."""
    extra_per_token: float
    """Work per token that nothing hides (communication between two GPUs)."""
    per_decode_context: float
    """Attention of a decoding sequence, per token of context."""
    per_prefill_work: float
    """Attention of a prefill chunk, per new token and token of context."""
    fixed: float
    """Scheduling and launch, per step."""
    per_decode: float
    """Sampling, per decoding sequence."""

    def seconds(self, load: StepLoad) -> float:
        """Return the duration of a step in seconds."""
        milliseconds = (
            max(self.weights_floor, self.per_token * load.tokens)
            + self.extra_per_token * load.tokens
            + self.per_decode_context * load.decode_context
            + self.per_prefill_work * load.prefill_work
            + self.fixed
            + self.per_decode * load.decodes
        )
        return milliseconds / 1000.0


@dataclass(frozen=True, slots=True)
class RequestOverheads:
    """Time of the API server around the engine, in seconds."""

    before_queue: float = 0.0156
    """From arrival until the scheduler sees the request."""
    at_end: float = 0.0008
    """From the last token to the end of the answer, per request."""
    per_output_token: float = 0.000046
    """The same, per output token."""


@dataclass(frozen=True, slots=True)
class ServingModel:
    """A language model on its GPUs."""

    name: str
    costs: StepCosts
    kv_tokens: int
    """Tokens of KV cache that are left beside the weights, with a bf16 cache."""


def _two_gpus(name: str, weights_floor: float, per_token: float, kv_tokens: int) -> ServingModel:
    costs = StepCosts(weights_floor, per_token, 0.0096, 9.5e-5, 2.9e-6, 2.70, 0.0044)
    return ServingModel(name, costs, kv_tokens)


SERVING_MODELS: Mapping[str, ServingModel] = MappingProxyType(
    {
        model.name: model
        for model in (
            ServingModel("8b-bf16", StepCosts(5.7, 0.0209, 0.0, 7.6e-5, 1.2e-6, 1.16, 0.0044), 421_000),
            _two_gpus("70b-fp8", 13.9, 0.067, 235_000),
            _two_gpus("70b-fp16", 27.8, 0.106, 641_136),
        )
    }
)
"""8b-bf16 on one H100; 70b-fp8 and 70b-fp16 on two. KV room: 80 GB cards at 0.90 memory utilisation for the first
two, for 70b-fp16 the figure that the CacheRoute paper (arXiv 2608.19677) gives for its pair."""
