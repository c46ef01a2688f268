from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cacheroute.cli import table_file, table_source
from cacheroute.cli.observed import UNKEYED
from cacheroute.cli.rates_file import RatesFile, read_rates
from cacheroute.cli.table_format import TableFormat
from cacheroute.controllers.file_world import InputFileError
from tests.cli.running import DATA


def read(path: Path, form: TableFormat | None = None, max_key_length: int = 128) -> RatesFile:
    return read_rates(str(path), form, max_key_length=max_key_length, now=100.0)


def csv(folder: Path, text: str | bytes) -> Path:
    path = folder / "rates.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(folder: Path, **columns: Any) -> Path:
    path = folder / "rates.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rates_of_keys(tmp_path: Path, form: str) -> None:
    if form == "csv":
        path = csv(
            tmp_path,
            "\ufeffnote, key ,rate,prompt_tokens\nx,bolt,1.5,300\nx,Acme,2e0,100\n\nx,,0.25,50\nx,a b,0.5,10\n",
        )
    else:
        path = parquet(
            tmp_path,
            key=["bolt", "Acme", None, "a b"],
            rate=[1.5, 2, 0.25, 0.5],
            prompt_tokens=[300, 100, 50, 10],
        )
    rates = read(path).rates
    assert rates.keys == ("acme", "bolt")
    assert rates.values.tolist() == [2.0, 1.5]
    assert rates.prompt_tokens is not None
    assert rates.prompt_tokens.tolist() == [100.0, 300.0]
    assert (rates.unkeyed, rates.rejected, rates.unkeyed_prompt_tokens) == (0.75, 0.5, 60.0)
    assert rates.time == 100.0


def test_keys_that_cannot_be_planned_are_told_in_one_line(tmp_path: Path) -> None:
    path = csv(tmp_path, f"key,rate\na,1\na b,2\n{'x' * 9},3\n")
    assert read(path, max_key_length=8).refused == (
        f"{path}: keys that cannot be planned: 2; their 5 requests/s count as unkeyed, such as 'a b' in row 3: keys "
        "have ASCII letters, digits and ._:@/+=~|-, up to spec.keys.maxLength"
    )
    assert read(path, max_key_length=9).refused.startswith(
        f"{path}: keys that cannot be planned: 1; their 2 "
    )
    assert read(csv(tmp_path, "key,rate\na,1\n,2\n")).refused == ""


def test_one_row_for_each_request(tmp_path: Path) -> None:
    path = csv(tmp_path, "time,key,prompt_tokens\n14,Acme,10\n10,acme,30\n12,,5\n11,bolt,20\n")
    found = read(path)
    assert found.rates.keys == ("acme", "bolt")
    assert found.rates.values.tolist() == [0.5, 0.25]
    assert found.rates.prompt_tokens is not None
    assert found.rates.prompt_tokens.tolist() == [10.0, 5.0]
    assert found.rates.unkeyed == 0.25
    assert found.arrivals is not None
    assert found.arrivals.time.tolist() == [10.0, 11.0, 12.0, 14.0]
    assert found.arrivals.key.tolist() == [0, 1, UNKEYED, 0]
    assert found.arrivals.tokens.tolist() == [30.0, 20.0, 5.0, 10.0]


def test_points_in_time_are_seconds(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    path = parquet(tmp_path, time=[start, start + timedelta(milliseconds=2500)], key=[7, 8])
    found = read(path)
    assert found.rates.keys == ("7", "8")
    assert np.allclose(found.rates.values, 0.4)


WRONG_CSV = [
    ("", "rates.csv: is empty"),
    ("key,rate\n", "rates.csv: has no rows"),
    ("key,rate\n\n\n", "rates.csv: has no rows"),
    ("tenant,rate\na,1\n", "rates.csv: there is no column key"),
    ("tenant,value\na,1\n", "rates.csv: there is no column key"),
    ("key,value\na,1\n", "rates.csv: there is no column rate (or time, with one row for each request)"),
    ("key,rate,time\na,1,1\n", "rates.csv: has both columns rate and time; leave one out"),
    ("key,rate,rate\na,1,1\n", "rates.csv:1: has two columns 'rate'"),
    ("key,rate\na,1\nb,x\n", "rates.csv:3: rate: 'x' is not a number"),
    ("key,rate\na,1\n\nb,\n", "rates.csv:4: rate: is missing"),
    ("key,rate\na\n", "rates.csv:2: rate: is missing"),
    ("key,rate\na,-0.5\n", "rates.csv:2: rate: -0.5 is negative"),
    ("key,rate\na,nan\n", "rates.csv:2: rate: nan is not finite"),
    ("key,rate\na,1\nb,inf\n", "rates.csv:3: rate: inf is not finite"),
    ("key,rate,prompt_tokens\na,1,-1\n", "rates.csv:2: prompt_tokens: -1 is negative"),
    ("key,time\na,1\nb,soon\n", "rates.csv:3: time: 'soon' is not a number"),
    ("key,time\na,5\nb,5\n", "rates.csv: time: goes from 5 to 5; no rates follow from it"),
    (
        "key,time\na,-1e308\nb,1e308\n",
        "rates.csv: time: goes from -1e+308 to 1e+308; no rates follow from it",
    ),
    ("key,rate\na,1\nb,1\nA,2\n", "rates.csv:4: key: 'A' stands there twice, first in row 2"),
    ("key,rate\n,1\nb,1\n,2\n", "rates.csv:4: key: '' stands there twice, first in row 2"),
    ("key,rate\na b,1\nb,1\na b,2\n", "rates.csv:4: key: 'a b' stands there twice, first in row 2"),
    ("key,rate\na,1\nb,1,2\n", "rates.csv:3: has 3 columns, the first row has 2"),
    ('key,rate\na,1\n"b,1\n', "rates.csv:3: is not CSV: unexpected end of data"),
    (b"key,rate\na,1\n\xe9,1\n", "rates.csv:3: is not UTF-8 text"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_CSV)
def test_what_is_wrong_names_file_row_and_column(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputFileError) as error:
        read(csv(tmp_path, text))
    assert str(error.value).removeprefix(f"{tmp_path}/").startswith(message)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": ["a", "b"], "rate": [1.0, None]}, ":2: rate: is missing"),
        ({"key": ["a", "b"], "rate": [1.0, float("nan")]}, ":2: rate: nan is not finite"),
        ({"key": ["a"], "rate": [[1.0]]}, ": rate: must be numbers, it is List(Float64)"),
        ({"key": ["a"], "rate": [True]}, ": rate: must be numbers, it is Boolean"),
        ({"key": [1.5], "rate": [1.0]}, ": key: must be text, it is Float64"),
        ({"key": [], "rate": []}, ": has no rows"),
    ],
)
def test_what_is_wrong_in_a_parquet_file(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = parquet(tmp_path, **columns)
    with pytest.raises(InputFileError) as error:
        read(path)
    assert str(error.value) == f"{path}{message}"


def test_a_broken_parquet_file_is_one_message(capfd: pytest.CaptureFixture[str]) -> None:
    """At this one polars panics, which is no Exception and prints by itself."""
    with pytest.raises(InputFileError, match="is no Parquet file, or a broken one"):
        read(DATA / "broken.parquet")
    assert capfd.readouterr() == ("", "")


def test_a_file_of_the_wrong_format(tmp_path: Path) -> None:
    path = csv(tmp_path, "key,rate\na,1\n")
    with pytest.raises(InputFileError, match="is no Parquet file"):
        read(path, TableFormat.PARQUET)
    with pytest.raises(InputFileError, match="is not UTF-8 text"):
        read(parquet(tmp_path, key=["a"], rate=[1.0]), TableFormat.CSV)
    other = path.rename(tmp_path / "rates.txt")
    with pytest.raises(
        InputFileError, match=r"ends neither in \.csv nor in \.parquet; say which it is by --format"
    ):
        read(other)
    assert read(other, TableFormat.CSV).rates.keys == ("a",)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="No such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(InputFileError, match="is a directory"):
        read(tmp_path, TableFormat.CSV)
    with pytest.raises(InputFileError, match="cannot be read: embedded null byte"):
        read(tmp_path / "a\0.csv")


def test_a_name_is_never_a_pattern(tmp_path: Path) -> None:
    csv(tmp_path, "key,rate\na,1\n")
    with pytest.raises(InputFileError, match="No such file"):
        read(tmp_path / "rate?.csv")
    assert read(csv(tmp_path, "key,rate\nb,1\n").rename(tmp_path / "rates[1].csv")).rates.keys == ("b",)
    other = parquet(tmp_path, key=["c"], rate=[1.0]).rename(tmp_path / "rates[1].parquet")
    assert read(other).rates.keys == ("c",)


def test_a_file_too_large_to_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(table_source.MAX_FILE_BYTES + 1)
    with pytest.raises(InputFileError, match=r"is over 2 GiB; add it up to columns key and rate first"):
        read(path)
    monkeypatch.setattr(table_file, "MAX_ROWS", 1)
    with pytest.raises(InputFileError, match="has over 1 rows"):
        read(parquet(tmp_path, key=["a", "b"], rate=[1.0, 2.0]))
