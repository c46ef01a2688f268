"""What a scrape says after known traffic."""

import pytest
from prometheus_client import CollectorRegistry

from cacheroute.engine.metrics import EngineMetrics
from cacheroute.engine.settings import CacheSettings, EngineSettings
from cacheroute.simulation.engine_model.model import EngineModel
from cacheroute.simulation.engine_model.requests import EngineRequest

LABELS = {"model_name": "llama", "engine": "0"}
SETTINGS = EngineSettings(served_names=("llama",), cache=CacheSettings(16, 1001))
REQUEST = EngineRequest(100, 5, range(6))


@pytest.fixture
def model() -> EngineModel:
    return EngineModel(SETTINGS.limits, SETTINGS.timing)


@pytest.fixture
def registry(model: EngineModel) -> CollectorRegistry:
    """Two equal requests, one after the other, and an abort."""
    metrics = EngineMetrics(model, SETTINGS)
    registry = CollectorRegistry()
    registry.register(metrics)
    for start in (0.0, 10.0):
        model.submit(REQUEST, start)
        metrics.record(model.advance(start + 5.0))
    metrics.record_abort()
    return registry


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prefix_cache_queries_total", 200),
        ("prefix_cache_hits_total", 96),
        ("prompt_tokens_total", 200),
        ("prompt_tokens_cached_total", 96),
        ("generation_tokens_total", 10),
        ("num_preemptions_total", 0),
        ("num_requests_running", 0),
        ("num_requests_waiting", 0),
        ("kv_cache_usage_perc", 0),
        ("time_to_first_token_seconds_count", 2),
        ("inter_token_latency_seconds_count", 8),
        ("request_time_per_output_token_seconds_count", 2),
        ("e2e_request_latency_seconds_count", 2),
        ("request_queue_time_seconds_sum", 0),
        ("request_prefill_time_seconds_count", 2),
        ("request_decode_time_seconds_count", 2),
        ("request_inference_time_seconds_count", 2),
        ("request_prompt_tokens_sum", 200),
        ("request_generation_tokens_sum", 10),
        ("request_prefill_kv_computed_tokens_sum", 104),
    ],
)
def test_totals(registry: CollectorRegistry, name: str, value: float) -> None:
    assert registry.get_sample_value(f"vllm:{name}", LABELS) == value


@pytest.mark.parametrize(("reason", "count"), [("length", 2), ("stop", 0), ("abort", 1)])
def test_ends_by_reason(registry: CollectorRegistry, reason: str, count: float) -> None:
    labels = {**LABELS, "finished_reason": reason}
    assert registry.get_sample_value("vllm:request_success_total", labels) == count


@pytest.mark.parametrize(("source", "tokens"), [("local_compute", 104), ("local_cache_hit", 96)])
def test_prompt_tokens_by_source(registry: CollectorRegistry, source: str, tokens: float) -> None:
    labels = {**LABELS, "source": source}
    assert registry.get_sample_value("vllm:prompt_tokens_by_source_total", labels) == tokens


def test_times_are_seconds_that_add_up(registry: CollectorRegistry) -> None:
    def total(name: str) -> float:
        return registry.get_sample_value(f"vllm:{name}_seconds_sum", LABELS) or 0.0

    before_queue, at_end = 2 * 0.0156, 2 * (0.0008 + 5 * 0.000046)
    prefill, decode = total("request_prefill_time"), total("request_decode_time")
    assert total("time_to_first_token") == pytest.approx(before_queue + prefill)
    assert total("inter_token_latency") == pytest.approx(decode)
    assert total("request_inference_time") == pytest.approx(prefill + decode)
    assert total("e2e_request_latency") == pytest.approx(before_queue + prefill + decode + at_end)


def test_gauges_while_a_request_runs(model: EngineModel, registry: CollectorRegistry) -> None:
    model.submit(REQUEST, 20.0)
    model.advance(20.016)
    assert registry.get_sample_value("vllm:num_requests_running", LABELS) == 1
    assert registry.get_sample_value("vllm:kv_cache_usage_perc", LABELS) == pytest.approx(7 / 1000)


def test_cache_config_info(registry: CollectorRegistry) -> None:
    info = next(family for family in registry.collect() if family.name == "vllm:cache_config_info")
    (sample,) = info.samples
    assert sample.value == 1
    assert (sample.labels["block_size"], sample.labels["num_gpu_blocks"]) == ("16", "1001")
