"""vLLM's metrics by their names, types, labels and units (those of vLLM 0.33)."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from cacheroute.engine.histogram import Tally, one_two_five
from cacheroute.engine.settings import EngineSettings
from cacheroute.simulation.engine_model.model import EngineModel, Progress
from cacheroute.simulation.engine_model.requests import FinishReason, LiveRequest

_FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_BETWEEN_TOKENS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
_REQUEST = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
_LABELS = ("model_name", "engine")
_OTHER_ENDS = ("error", "repetition")
"""Reasons to end that vLLM has and a simulation has not."""

_HELP: Mapping[str, str] = {
    "time_to_first_token_seconds": "Time from arrival to the first token.",
    "inter_token_latency_seconds": "Time between two tokens of a request.",
    "request_time_per_output_token_seconds": "Mean time per token after the first, per request.",
    "e2e_request_latency_seconds": "Time from arrival to the end of the answer.",
    "request_queue_time_seconds": "Time in the waiting queue.",
    "request_prefill_time_seconds": "Time from the first step to the first token.",
    "request_decode_time_seconds": "Time from the first token to the last.",
    "request_inference_time_seconds": "Time from the first step to the last token.",
    "request_prompt_tokens": "Prompt tokens of a request.",
    "request_generation_tokens": "Generated tokens of a request.",
    "request_prefill_kv_computed_tokens": "Prompt tokens of a request that were not cached.",
}


class EngineMetrics(Collector):
    """Collects what happened; the families are made when they are asked for."""

    def __init__(self, model: EngineModel, settings: EngineSettings) -> None:
        self._model = model
        self._settings = settings
        self._labels = (settings.name, "0")
        self._tallies = {name: Tally(_bounds(name, settings.max_model_len)) for name in _HELP}
        self._ended = dict.fromkeys(FinishReason, 0)
        self._prompt_tokens = 0
        self._cached_tokens = 0
        self._generated_tokens = 0

    def record(self, progress: Progress) -> None:
        """Account for what happened in the engine."""
        self._generated_tokens += progress.tokens
        gaps = self._tallies["inter_token_latency_seconds"]
        for seconds, times in progress.gaps:
            gaps.observe(seconds, times)
        for live in progress.started:
            self._prompt_tokens += live.request.prompt_tokens
            self._cached_tokens += live.cached_tokens
            self._tallies["time_to_first_token_seconds"].observe(live.first_token - live.arrived)
        for live in progress.finished:
            self._record_end(live, live.request.finish_reason)

    def record_abort(self) -> None:
        """Account for a request that was aborted."""
        self._ended[FinishReason.ABORT] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield every family; called by the registry."""
        yield from self._gauges()
        yield from self._counters()
        yield from self._histograms()

    def _record_end(self, live: LiveRequest, reason: FinishReason) -> None:
        self._ended[reason] += 1
        work, decode = live.request, live.last_token - live.first_token
        values = {
            "e2e_request_latency_seconds": live.finished - live.arrived,
            "request_queue_time_seconds": live.scheduled - live.queued,
            "request_prefill_time_seconds": live.first_token - live.scheduled,
            "request_decode_time_seconds": decode,
            "request_inference_time_seconds": live.last_token - live.scheduled,
            "request_prompt_tokens": work.prompt_tokens,
            "request_generation_tokens": live.generated,
            "request_prefill_kv_computed_tokens": work.prompt_tokens - live.cached_tokens,
        }
        if live.generated > 1:
            values["request_time_per_output_token_seconds"] = decode / (live.generated - 1)
        for name, value in values.items():
            self._tallies[name].observe(value)

    def _gauges(self) -> Iterator[Metric]:
        state = self._model.state()
        yield self._one(GaugeMetricFamily, "num_requests_running", "Requests in the batch.", state.running)
        yield self._one(GaugeMetricFamily, "num_requests_waiting", "Requests in the queue.", state.waiting)
        yield self._one(
            GaugeMetricFamily, "kv_cache_usage_perc", "Share of KV blocks in use, 0 to 1.", state.kv_usage
        )
        cache = self._settings.cache
        info = {
            "block_size": str(cache.block_size),
            "enable_prefix_caching": "True",
            "engine": "0",
            "num_gpu_blocks": str(self._settings.total_blocks),
            "num_gpu_blocks_override": str(cache.blocks),
        }
        family = GaugeMetricFamily("vllm:cache_config_info", "Settings of the KV cache.", labels=tuple(info))
        family.add_metric(tuple(info.values()), 1)
        yield family

    def _counters(self) -> Iterator[Metric]:
        totals = self._model.counters
        for name, text, value in (
            ("prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", totals.queries),
            ("prefix_cache_hits", "Prompt tokens found in the prefix cache.", totals.hits),
            ("num_preemptions", "Requests that lost their blocks.", totals.preemptions),
            ("prompt_tokens", "Prompt tokens processed, cached ones included.", self._prompt_tokens),
            ("prompt_tokens_cached", "Prompt tokens that were cached.", self._cached_tokens),
            ("generation_tokens", "Tokens generated.", self._generated_tokens),
        ):
            yield self._one(CounterMetricFamily, name, text, value)
        yield self._by_source()
        labels = (*_LABELS, "finished_reason")
        ended = CounterMetricFamily("vllm:request_success", "Requests that ended, by reason.", labels=labels)
        for reason, count in self._ended.items():
            ended.add_metric((*self._labels, reason.value), count)
        for other in _OTHER_ENDS:
            ended.add_metric((*self._labels, other), 0)
        yield ended

    def _by_source(self) -> Metric:
        family = CounterMetricFamily(
            "vllm:prompt_tokens_by_source",
            "Prompt tokens by where they came from.",
            labels=(*_LABELS, "source"),
        )
        computed = self._prompt_tokens - self._cached_tokens
        sources = {
            "local_compute": computed,
            "local_cache_hit": self._cached_tokens,
            "external_kv_transfer": 0,
        }
        for source, count in sources.items():
            family.add_metric((*self._labels, source), count)
        return family

    def _histograms(self) -> Iterator[Metric]:
        for name, tally in self._tallies.items():
            family = HistogramMetricFamily(f"vllm:{name}", _HELP[name], labels=_LABELS)
            family.add_metric(self._labels, tally.buckets(), tally.total)
            yield family

    def _one(
        self,
        kind: Callable[..., GaugeMetricFamily | CounterMetricFamily],
        name: str,
        text: str,
        value: float,
    ) -> Metric:
        family = kind(f"vllm:{name}", text, labels=_LABELS)
        family.add_metric(self._labels, value)
        return family


def _bounds(name: str, max_model_len: int) -> tuple[float, ...]:
    if name.endswith("_tokens"):
        return tuple(one_two_five(max_model_len))
    if name == "time_to_first_token_seconds":
        return _FIRST_TOKEN
    return _BETWEEN_TOKENS if "token" in name else _REQUEST
