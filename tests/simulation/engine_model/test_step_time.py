"""Step times against the formulas, worked out by hand."""

import pytest

from cacheroute.simulation.engine_model.step_time import SERVING_MODELS, StepLoad

DECODE_ONLY = StepLoad(tokens=10, decodes=10, decode_context=20_000, prefill_work=0.0)
PREFILL_ONLY = StepLoad(tokens=2000, decodes=0, decode_context=0, prefill_work=2000 * 1000.0)
MIXED = StepLoad(tokens=1010, decodes=10, decode_context=20_000, prefill_work=1000 * 1500.0)


@pytest.mark.parametrize(
    ("model", "load", "milliseconds"),
    [
        ("8b-bf16", DECODE_ONLY, 5.7 + 1.52 + 1.16 + 0.044),
        ("8b-bf16", PREFILL_ONLY, 41.8 + 2.4 + 1.16),
        ("8b-bf16", MIXED, 21.109 + 1.52 + 1.8 + 1.16 + 0.044),
        ("70b-fp8", DECODE_ONLY, 13.9 + 0.096 + 1.9 + 2.70 + 0.044),
        ("70b-fp8", PREFILL_ONLY, 134.0 + 19.2 + 5.8 + 2.70),
        ("70b-fp8", MIXED, 67.67 + 9.696 + 1.9 + 4.35 + 2.70 + 0.044),
        ("70b-fp16", DECODE_ONLY, 27.8 + 0.096 + 1.9 + 2.70 + 0.044),
        ("70b-fp16", PREFILL_ONLY, 212.0 + 19.2 + 5.8 + 2.70),
        ("70b-fp16", MIXED, 107.06 + 9.696 + 1.9 + 4.35 + 2.70 + 0.044),
    ],
)
def test_step_time(model: str, load: StepLoad, milliseconds: float) -> None:
    assert SERVING_MODELS[model].costs.seconds(load) == pytest.approx(milliseconds / 1000, rel=1e-9)
