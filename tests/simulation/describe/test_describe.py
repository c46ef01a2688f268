"""A description says what numpy says of the whole trace."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cacheroute.simulation.describe import sharing
from cacheroute.simulation.describe.describe import describe
from cacheroute.simulation.describe.gaps import Gaps
from cacheroute.simulation.describe.plots import pictures
from cacheroute.simulation.describe.sections import sections
from cacheroute.simulation.traces import order
from cacheroute.simulation.traces.read import read_trace
from cacheroute.simulation.traces.readers.open import open_trace
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.trace import Trace
from tests.simulation.traces.readers import made

SHIPPED = Path(__file__).parents[1] / "data" / "mooncake_synthetic.parquet"
SIZE = 5_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of three months that is not quite in order."""
    random = np.random.default_rng(8)
    time = np.sort(random.gamma(0.3, 5_000, SIZE).cumsum())
    user, model = random.zipf(1.5, SIZE) % 50, random.zipf(1.6, SIZE) % 9
    prompt, output = random.integers(1, 9_000, SIZE), random.integers(0, 500, SIZE)
    cached = np.where(random.random(SIZE) < 0.4, 0, prompt * 0.95).astype(int)
    records = [
        {
            "timestamp": 1_764_504_000 + float(time[at]), "user": f"u{user[at]}", "model": f"m{model[at]}",
            "usage": {
                "prompt_tokens": int(prompt[at]), "completion_tokens": int(output[at]),
                "prompt_tokens_details": {"cached_tokens": int(cached[at])},
            },
            "duration": 2.0 + at % 7, "ttft": 0.5,
        }
        for at in np.argsort(time + random.random(SIZE) * 100)
    ]  # fmt: skip
    return made.json_lines(tmp_path_factory.mktemp("log") / "log.jsonl", records)


@pytest.fixture(scope="module")
def trace(log: Path) -> Trace:
    return read_trace(str(log))


@pytest.fixture(scope="module")
def found(log: Path) -> dict[str, Any]:
    return describe(open_trace(str(log), ReadOptions()))


def test_totals_and_lengths(found: dict[str, Any], trace: Trace) -> None:
    assert found["requests"] == SIZE
    assert found["seconds"] == pytest.approx(trace.seconds)
    for name in ("prompt", "output"):
        values = getattr(trace, name)
        assert found[name]["total"] == values.sum()
        for quantile, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            exact = np.quantile(values, share, method="inverted_cdf")
            assert found[name][quantile] == pytest.approx(exact, rel=1e-3)
    assert found["duration"]["mean"] == pytest.approx(trace.duration.mean(), rel=1e-6)


def test_volumes(found: dict[str, Any], trace: Trace) -> None:
    time = trace.arrival + trace.start
    for name, seconds in (("by_hour", 3_600), ("by_day", 86_400)):
        at = (time // seconds - time[0] // seconds).astype(int)
        for column, amount in (("requests", None), ("prompt_tokens", trace.prompt)):
            assert found["volume"][name][column] == np.bincount(at, amount).astype(int).tolist()
        assert found["volume"][name]["first"] == time[0] // seconds * seconds
    day = (time // 86_400 - time[0] // 86_400).astype(int)
    for column, number in (("keys", trace.key), ("models", trace.model)):
        active = [np.unique(number[day == one]).size for one in range(day.max() + 1)]
        assert found["volume"]["by_day"][column] == active
    months = pl.Series(time * 1e6).cast(pl.Int64).cast(pl.Datetime("us")).dt.strftime("%Y-%m")
    counted = dict(zip(*np.unique(months.to_numpy(), return_counts=True), strict=True))
    assert {one["month"]: one["requests"] for one in found["volume"]["by_month"]} == counted
    assert len(counted) > 2


def test_burstiness(found: dict[str, Any], trace: Trace) -> None:
    gaps = np.diff(trace.arrival)
    burst = found["burstiness"]
    assert burst["cv_of_gaps"] == pytest.approx(gaps.std() / gaps.mean())
    off = gaps - gaps.mean()
    assert burst["lag_1_of_gaps"] == pytest.approx((off[1:] * off[:-1]).sum() / (off**2).sum(), abs=1e-9)
    counts = np.bincount((trace.arrival // 60).astype(int))[:-1]
    assert burst["cv_of_minute_counts"] == pytest.approx(counts.std() / counts.mean())


def test_gaps_by_model_are_those_of_each_alone(found: dict[str, Any], trace: Trace) -> None:
    for one in found["models"]["largest"]:
        gaps = np.diff(trace.arrival[trace.model == trace.models.index(one["name"])])
        if gaps.size > 2:
            assert one["cv_of_gaps"] == pytest.approx(gaps.std() / gaps.mean())
            off = gaps - gaps.mean()
            lag = (off[1:] * off[:-1]).sum() / (off**2).sum()
            assert one["lag_1_of_gaps"] == pytest.approx(lag, abs=1e-9)


def test_gaps_do_not_depend_on_the_parts() -> None:
    random = np.random.default_rng(1)
    time, group = np.sort(random.random(300)), random.integers(0, 4, 300)
    whole, parts = Gaps(), Gaps()
    whole.add(group, time)
    for at in range(0, 300, 7):
        parts.add(group[at : at + 7], time[at : at + 7])
    assert parts.cv() == pytest.approx(whole.cv())
    assert parts.lag_1() == pytest.approx(whole.lag_1())


def test_minutely_cv_looks_into_minutes_with_enough_gaps(tmp_path: Path) -> None:
    even = [60.0 + at for at in range(0, 60, 2)]
    uneven = [120.0 + at**2 / 60 for at in range(60)]
    lines = [made.log_line(0, timestamp=time) for time in (0.0, *even, *uneven)]
    found = describe(open_trace(str(made.json_lines(tmp_path / "l.jsonl", lines)), ReadOptions()))
    first = np.diff([0.0, *even])
    last = np.diff([even[-1], *uneven])
    expected = np.mean([gaps.std() / gaps.mean() for gaps in (first, last)])
    assert found["burstiness"]["minutely_cv_of_gaps"] == pytest.approx(expected)


def test_skew(found: dict[str, Any], trace: Trace) -> None:
    for name, column in (("keys", trace.key), ("models", trace.model)):
        counts = np.sort(np.unique(column, return_counts=True)[1])[::-1]
        n = counts.size
        gini = np.abs(counts[:, None] - counts[None, :]).sum() / (2 * n * counts.sum())
        skew = found[name]["requests"]
        assert found[name]["count"] == n
        assert skew["gini"] == pytest.approx(gini)
        assert skew["top"]["1"] == pytest.approx(counts[0] / SIZE)
        assert skew["for_half"] == int(np.argmax(counts.cumsum() >= SIZE / 2)) + 1
        assert found[name]["largest"][0]["requests"] == counts[0]


def test_users_and_models(found: dict[str, Any], trace: Trace) -> None:
    pairs = set(zip(trace.key.tolist(), trace.model.tolist(), strict=True))
    structure = found["structure"]
    assert structure["pairs"] == len(pairs)
    models = [len({model for user, model in pairs if user == one}) for one in set(trace.key.tolist())]
    assert structure["models_of_a_user"]["mean"] == pytest.approx(np.mean(models))
    assert structure["users_of_one_model_share"] == pytest.approx(np.mean(np.array(models) == 1))


def test_reuse_times(found: dict[str, Any], trace: Trace) -> None:
    last: dict[tuple[int, int], float] = {}
    gaps = []
    for pair, time in zip(
        zip(trace.key.tolist(), trace.model.tolist(), strict=True), trace.arrival, strict=True
    ):
        if pair in last:
            gaps.append(time - last[pair])
        last[pair] = time
    times = found["prefix"]["reuse_times"]
    assert times["returns"] == len(gaps)
    for name, seconds in (("0.1 s", 0.1), ("10 s", 10.0), ("1 min", 60.0), ("15 min", 900.0)):
        assert times["within"][name] == pytest.approx((np.array(gaps) <= seconds).mean(), abs=1e-3)


def test_hits(found: dict[str, Any], trace: Trace) -> None:
    ratio = trace.cached / trace.prompt
    hits = found["prefix"]["hits"]
    assert hits["token_hit"] == pytest.approx(trace.cached.sum() / trace.prompt.sum())
    assert hits["miss_share"] == pytest.approx((ratio <= 0.05).mean())
    assert hits["hit_share"] == pytest.approx((ratio >= 0.9).mean())
    off = ratio - ratio.mean()
    skewness, kurtosis = (off**3).mean() / ratio.std() ** 3, (off**4).mean() / ratio.std() ** 4
    assert hits["bimodality_coefficient"] == pytest.approx((skewness**2 + 1) / kurtosis)
    assert sum(hits["histogram"]) == SIZE
    assert sum(one["requests"] for one in hits["by_prompt"]) == SIZE


def test_sessions(found: dict[str, Any], trace: Trace) -> None:
    turns = np.unique(trace.session, return_counts=True)[1]
    sessions = found["prefix"]["sessions"]
    assert sessions["count"] == turns.size
    assert sessions["single_turn_share"] == pytest.approx((turns == 1).mean())
    assert sessions["turns"]["mean"] == pytest.approx(turns.mean())
    assert sessions["turns"]["max"] == turns.max()
    assert sessions["turns"]["p90"] == np.quantile(turns, 0.9, method="inverted_cdf")
    prefix = 0
    last: dict[int, int] = {}
    for session, prompt, output in zip(trace.session.tolist(), trace.prompt, trace.output, strict=True):
        prefix += last.get(session, 0)
        last[session] = prompt + output
    assert sessions["structural_reuse_ratio"] == pytest.approx(prefix / trace.prompt.sum())


def test_the_order_and_the_parts_make_no_difference(
    log: Path, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "PART", 173)
    again = describe(open_trace(str(log), ReadOptions()))
    assert again["volume"] == found["volume"]
    assert again["prefix"]["sessions"] == found["prefix"]["sessions"]
    assert again["prefix"]["reuse_times"]["within"] == found["prefix"]["reuse_times"]["within"]
    assert again["keys"] == found["keys"]
    assert again["burstiness"]["cv_of_gaps"] == pytest.approx(found["burstiness"]["cv_of_gaps"])


def test_the_shipped_trace_has_the_blocks_of_a_cache_without_bounds() -> None:
    found = describe(open_trace(str(SHIPPED), ReadOptions()))
    trace = read_trace(str(SHIPPED))
    assert trace.blocks is not None
    known: set[int] = set()
    hit = 0
    for at in range(trace.size):
        blocks = trace.blocks.of(at).tolist()
        leading = next((n for n, one in enumerate(blocks) if one not in known), len(blocks))
        hit += min(leading * trace.blocks.size, int(trace.prompt[at]))
        known.update(blocks)
    blocks_found = found["prefix"]["blocks"]
    assert blocks_found["unbounded_hit"] == pytest.approx(hit / trace.prompt.sum())
    assert blocks_found["distinct_blocks"] == len(known)
    assert found["keys"] is None
    assert found["prefix"]["hits"] is None


def test_models_that_are_never_active_together_share_a_gpu(tmp_path: Path) -> None:
    lines = [
        made.log_line(0, timestamp=minute * 60.0, model="big") for minute in range(100) for _ in range(20)
    ]
    lines += [
        made.log_line(0, timestamp=60.0 * (10 * n + at), model=f"apart-{n}")
        for n in range(4)
        for at in range(8)
    ]
    lines += [made.log_line(0, timestamp=60.0 * at, model="always") for at in range(60)]
    lines.sort(key=lambda one: float(str(one["timestamp"])))
    found = describe(open_trace(str(made.json_lines(tmp_path / "l.jsonl", lines)), ReadOptions()))
    tail = found["models"]["long_tail"]
    assert tail["tail_models"] == 5
    assert tail["gpus"] == 2
    assert tail["models_on_a_gpu"] == 2.5


def test_spans_grow_where_a_trace_is_long(
    log: Path, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found["models"]["long_tail"]["minutes_of_a_span"] == 1
    monkeypatch.setattr(sharing, "_MOST_SPANS", 1 << 12)
    tail = describe(open_trace(str(log), ReadOptions()))["models"]["long_tail"]
    minutes = found["seconds"] / 60
    assert minutes / tail["minutes_of_a_span"] <= 1 << 12 < 2 * minutes / tail["minutes_of_a_span"]
    assert tail["gpus"] >= found["models"]["long_tail"]["gpus"]


def test_answers_that_nobody_counted_are_not_0(tmp_path: Path) -> None:
    lines = [made.log_line(at, usage={"prompt_tokens": 5}) for at in range(3)]
    found = describe(open_trace(str(made.json_lines(tmp_path / "l.jsonl", lines)), ReadOptions()))
    assert found["output"] is None
    assert found["output_over_prompt"] is None
    assert ("output tokens", "not known") in dict(sections(found))["Trace"]
    assert "Lengths of prompts and answers" in pictures(found)
