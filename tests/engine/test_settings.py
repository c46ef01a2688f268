import math

import pytest

from cacheroute.engine.errors import SettingsError
from cacheroute.engine.settings import BatchSettings, CacheSettings, EngineSettings


def test_defaults_follow_the_engine_model() -> None:
    settings = EngineSettings(engine_model="8b-bf16")
    assert settings.total_blocks == 421_000 // 16
    assert settings.limits.blocks == settings.total_blocks - 1
    assert settings.max_model_len == 131_072


def test_a_small_cache_bounds_the_context() -> None:
    assert EngineSettings(cache=CacheSettings(16, 11)).max_model_len == 160


@pytest.mark.parametrize(
    ("make", "flag"),
    [
        (lambda: EngineSettings(engine_model="gpt"), "--engine-model gpt"),
        (lambda: EngineSettings(served_names=("",)), "--served-model-name"),
        (lambda: EngineSettings(speed=0), "--speed 0"),
        (lambda: EngineSettings(speed=math.nan), "--speed nan"),
        (lambda: EngineSettings(shutdown_timeout=-1), "--shutdown-timeout -1"),
        (lambda: EngineSettings(shutdown_timeout=math.nan), "--shutdown-timeout nan"),
        (lambda: EngineSettings(cache=CacheSettings(0)), "--block-size 0"),
        (lambda: EngineSettings(cache=CacheSettings(16, 1)), "--num-gpu-blocks-override 1"),
        (lambda: EngineSettings(batch=BatchSettings(max_num_seqs=0)), "--max-num-seqs 0"),
        (lambda: EngineSettings(batch=BatchSettings(max_num_batched_tokens=0)), "--max-num-batched-tokens 0"),
        (lambda: EngineSettings(batch=BatchSettings(max_model_len=1)), "--max-model-len 1"),
        (lambda: EngineSettings(batch=BatchSettings(max_model_len=300_000)), "--max-model-len 300000"),
    ],
)
def test_bad_settings_name_their_flag(make: object, flag: str) -> None:
    assert callable(make)
    with pytest.raises(SettingsError, match=flag):
        make()
