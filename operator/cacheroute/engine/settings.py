"""The settings of one simulated server, checked."""

from dataclasses import dataclass

from cacheroute.engine.errors import SettingsError
from cacheroute.simulation.engine_model.model import EngineTiming
from cacheroute.simulation.engine_model.scheduler import EngineLimits
from cacheroute.simulation.engine_model.step_time import SERVING_MODELS, ServingModel

_LONGEST_CONTEXT = 131_072


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The KV cache."""

    block_size: int = 16
    """Tokens in a block."""
    blocks: int | None = None
    """Blocks as vLLM counts them: one of them is its null block, which no request uses. None: from the engine model."""

    def total(self, serving: ServingModel) -> int:
        """Return the number of blocks, the null block included."""
        return self.blocks if self.blocks is not None else serving.kv_tokens // self.block_size


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """The scheduler."""

    max_model_len: int | None = None
    """Most tokens of a request, prompt and output together. None: what fits into the KV cache, at most 131,072."""
    max_num_batched_tokens: int = 8192
    max_num_seqs: int = 1024


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """What answers tell beyond the text."""

    prompt_tokens_details: bool = True
    """Whether usage has ``cached_tokens``."""
    force_include_usage: bool = False
    """Whether streams end with usage although the client has not asked."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Everything about one simulated server but its address."""

    served_names: tuple[str, ...] = ("simulated",)
    """Model names that requests may use; the first one is the name in answers and metrics."""
    engine_model: str = "70b-fp8"
    """A key of ``SERVING_MODELS``."""
    speed: float = 1.0
    """How many times faster than the real engine."""
    shutdown_timeout: float = 0.0
    """Seconds that running requests get after SIGTERM; with 0 they are lost (500), as in vLLM."""
    cache: CacheSettings = CacheSettings()
    batch: BatchSettings = BatchSettings()
    report: ReportSettings = ReportSettings()

    def __post_init__(self) -> None:
        """Check every setting; raises SettingsError."""
        if self.engine_model not in SERVING_MODELS:
            known = ", ".join(SERVING_MODELS)
            raise SettingsError(f"--engine-model {self.engine_model} is not known; use one of: {known}")
        if not all(self.served_names) or not self.served_names:
            raise SettingsError("--served-model-name must not be empty")
        _at_least("--block-size", self.cache.block_size, 1)
        _at_least("--num-gpu-blocks-override", self.total_blocks, 2)
        _at_least("--max-num-batched-tokens", self.batch.max_num_batched_tokens, 1)
        _at_least("--max-num-seqs", self.batch.max_num_seqs, 1)
        _at_least("--shutdown-timeout", self.shutdown_timeout, 0)
        if not 0.01 <= self.speed <= 1000:  # noqa: PLR2004 - bounds of a flag, named in its message
            raise SettingsError(f"--speed {self.speed:g} is out of range; use 0.01 to 1000")
        self._check_length()

    @property
    def name(self) -> str:
        """The model name in answers and metrics."""
        return self.served_names[0]

    @property
    def serving(self) -> ServingModel:
        """The model whose step times are simulated."""
        return SERVING_MODELS[self.engine_model]

    @property
    def total_blocks(self) -> int:
        """KV blocks, the null block included."""
        return self.cache.total(self.serving)

    @property
    def limits(self) -> EngineLimits:
        """Sizes of the engine model."""
        return EngineLimits(
            blocks=self.total_blocks - 1,
            block_size=self.cache.block_size,
            batched_tokens=self.batch.max_num_batched_tokens,
            sequences=self.batch.max_num_seqs,
        )

    @property
    def timing(self) -> EngineTiming:
        """Speeds of the engine model."""
        return EngineTiming(self.serving.costs, speed=self.speed)

    @property
    def max_model_len(self) -> int:
        """Most tokens of a request."""
        if self.batch.max_model_len is None:
            return min(_LONGEST_CONTEXT, self.limits.tokens)
        return self.batch.max_model_len

    def _check_length(self) -> None:
        _at_least("--max-model-len", self.max_model_len, 2)
        if self.max_model_len > self.limits.tokens:
            raise SettingsError(
                f"--max-model-len {self.max_model_len} exceeds the KV cache of {self.limits.tokens} tokens; "
                "use a smaller one or more blocks (--num-gpu-blocks-override)"
            )


def _at_least(flag: str, value: float, least: int) -> None:
    if not value >= least:
        raise SettingsError(f"{flag} {value:g} is out of range; use {least} or more")
