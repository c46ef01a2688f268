"""Every format becomes the same value."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cacheroute.simulation.traces.read import read_trace, write_trace
from cacheroute.simulation.traces.readers.open import open_trace, recognise
from cacheroute.simulation.traces.readers.options import ReadOptions, TraceFormat
from cacheroute.simulation.traces.trace import Trace
from tests.simulation.traces.readers import made

SHIPPED = Path(__file__).parents[2] / "data" / "mooncake_synthetic.parquet"
FILES: dict[str, tuple[TraceFormat, Callable[[Path], Path]]] = {
    "access log": (TraceFormat.ACCESS_LOG, made.access_log),
    "access log, gzipped": (
        TraceFormat.ACCESS_LOG,
        lambda folder: made.json_lines(folder / "log.jsonl.gz", [made.log_line(at) for at in range(4)]),
    ),
    "envoy": (
        TraceFormat.ENVOY,
        lambda folder: made.json_lines(folder / "envoy.log", [made.envoy_line(at) for at in range(3)]),
    ),
    "mooncake": (TraceFormat.MOONCAKE, made.mooncake),
    "azure": (TraceFormat.AZURE, made.azure),
    "azure, gzipped": (TraceFormat.AZURE, lambda folder: made.azure(folder, published=False)),
    "year": (TraceFormat.YEAR, lambda folder: made.parquet(folder / "y.parquet", made.year_frame())),
    "runs": (
        TraceFormat.RUNS,
        lambda folder: made.parquet(folder / "r.parquet", made.runs_frame(), block_size="512"),
    ),
    "sessions": (
        TraceFormat.RUNS,
        lambda folder: made.parquet(
            folder / "s.parquet", made.sessions_frame(), block_size="64", hash_scope="local to session"
        ),
    ),
    "tenants": (TraceFormat.TENANTS, lambda folder: made.parquet(folder / "t.pq", made.tenants_frame())),
}


@pytest.mark.parametrize("name", FILES)
def test_a_format_is_recognised_and_survives_our_own(name: str, tmp_path: Path) -> None:
    form, make = FILES[name]
    path = str(make(tmp_path))
    assert recognise(path) is form
    out = tmp_path / "out.parquet"
    write_trace(open_trace(path, ReadOptions()), out)
    assert recognise(str(out)) is TraceFormat.CACHEROUTE
    same(read_trace(path), read_trace(str(out)))
    assert not list(tmp_path.glob(".*"))


def same(one: Trace, other: Trace) -> None:
    for column in ("arrival", "prompt", "output", "session", "cached", "duration", "ttft", "key", "model"):
        assert np.array_equal(
            getattr(one, column), getattr(other, column), equal_nan=column in ("duration", "ttft")
        ), column
    assert (one.keys, one.models, one.start) == (other.keys, other.models, other.start)
    if one.blocks is None or other.blocks is None:
        assert one.blocks is other.blocks
    else:
        assert one.blocks.size == other.blocks.size
        assert np.array_equal(one.blocks.ids, other.blocks.ids)
        assert np.array_equal(one.blocks.offsets, other.blocks.offsets)


def test_an_access_log(tmp_path: Path) -> None:
    trace = read_trace(str(made.access_log(tmp_path)))
    assert trace.arrival.tolist() == [0, 1, 2, 3]
    assert trace.start == 1_793_534_400.0
    assert trace.prompt.tolist() == [100, 101, 102, 103]
    assert trace.cached.tolist() == [96] * 4
    assert trace.keys == ("user-0", "user-1", "user-2")
    assert trace.key.tolist() == [0, 1, 2, 0]
    assert trace.models == ("llama",)
    assert trace.duration.tolist() == [1.5] * 4
    assert trace.ttft.tolist() == [0.25] * 4


def test_fields_may_be_named(tmp_path: Path) -> None:
    record = {"meta": {"team": "search", "at": 1_764_504_000_123}, "n_in": "12", "ms": 1500, "thread": 7}
    path = made.json_lines(tmp_path / "odd.log", [record])
    fields = {
        "time": "meta.at",
        "key": "meta.team",
        "prompt": "n_in",
        "duration": "ms:ms",
        "session": "thread",
    }
    trace = read_trace(str(path), ReadOptions(fields=fields))
    assert trace.start == 1_764_504_000.123
    assert trace.keys == ("search",)
    assert trace.prompt.tolist() == [12]
    assert trace.duration.tolist() == [1.5]
    assert trace.session[0] >= 0


@pytest.mark.parametrize("time", [1_764_504_000, 1_764_504_000_000, 1_764_504_000_000_000, "1764504000.000"])
def test_units_of_time_are_told_by_their_size(time: object, tmp_path: Path) -> None:
    path = made.json_lines(tmp_path / "log.jsonl", [made.log_line(0, timestamp=time)])
    assert read_trace(str(path)).start == 1_764_504_000.0


def test_lines_without_prompt_tokens_are_left_out_and_counted(tmp_path: Path) -> None:
    records = [{"msg": "started"}, made.log_line(1), made.log_line(2, usage=None), made.log_line(3)]
    reading = open_trace(str(made.json_lines(tmp_path / "log.jsonl", records)), ReadOptions())
    assert sum(part.size for part in reading.parts) == 2
    assert reading.words.left_out == 2


def test_envoy_tells_milliseconds_and_its_plan(tmp_path: Path) -> None:
    trace = read_trace(str(made.json_lines(tmp_path / "e.log", [made.envoy_line(at) for at in range(3)])))
    assert trace.duration.tolist() == [1.5] * 3
    assert trace.ttft.tolist() == [0.25] * 3
    assert trace.models == ("inference/llama",)
    assert trace.keys == ("tenant-0", "tenant-1")


def test_mooncake_has_milliseconds_and_blocks(tmp_path: Path) -> None:
    trace = read_trace(str(made.mooncake(tmp_path)))
    assert trace.arrival.tolist() == [0.0, 3.5]
    assert trace.blocks is not None
    assert trace.blocks.size == 512
    assert trace.blocks.of(0).tolist() == [46, 47, 48]


def test_azure_as_published(tmp_path: Path) -> None:
    trace = read_trace(str(made.azure(tmp_path)))
    assert trace.arrival.tolist() == pytest.approx([0.0, 0.052])
    assert trace.output.tolist() == [10, 8]


def test_the_year_long_trace(tmp_path: Path) -> None:
    trace = read_trace(str(made.parquet(tmp_path / "y.parquet", made.year_frame())))
    assert trace.start == 0.0, "its calendar is none"
    assert trace.arrival.tolist() == [0, 5, 9]
    assert trace.prompt.tolist() == [50, 100, 130]
    assert trace.output.tolist() == [5, 20, 0]
    assert trace.cached.tolist() == [0, 64, -1]
    assert trace.keys == ("u1#4",)
    assert np.isnan(trace.ttft[[0, 2]]).all()
    assert trace.duration[1] == 2.0
    assert trace.session.tolist() == [0, 1, 1], "chat_stream and chat are different endpoints"


def test_sessions_with_their_own_clocks_are_spread_and_kept_apart(tmp_path: Path) -> None:
    path = made.parquet(
        tmp_path / "s.parquet", made.sessions_frame(), block_size="64", hash_scope="local to session"
    )
    reading = open_trace(str(path), ReadOptions())
    assert "Poisson" in reading.made_up
    trace = read_trace(str(path))
    assert trace.blocks is not None
    first, second = (trace.session == one for one in (1, 2))
    assert np.diff(trace.arrival[first]).tolist() == pytest.approx([19.0])
    blocks = [set(trace.blocks.of(int(at)).tolist()) for at in np.flatnonzero(first)]
    assert blocks[0] < blocks[1]
    assert not blocks[0] & set(trace.blocks.of(int(np.flatnonzero(second)[0])).tolist())


def test_the_shipped_trace() -> None:
    trace = read_trace(str(SHIPPED))
    assert trace.size == 3_993
    assert trace.blocks is not None
    assert trace.blocks.ids.size == 121_877
    assert int(trace.session.max()) + 1 == 2_211
