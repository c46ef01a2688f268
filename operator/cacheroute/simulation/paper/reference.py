"""The results of CacheRoute (arXiv 2608.19677), tables 1 to 14, as facts to compare with."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import polars as pl

SOURCE = "arXiv 2608.19677"


@dataclass(frozen=True, slots=True)
class Result:
    """One number of the paper.

    Attributes:
        value: as printed; NaN where the paper gives none.
        interval: half of its 95 % confidence interval, None where the paper gives none.
        note: what the table adds.
    """

    value: float
    interval: float | None
    note: str


@cache
def _results() -> dict[tuple[str, str, str, str], Result]:
    text = files("cacheroute.simulation.paper").joinpath("data/cacheroute_tables.csv").read_bytes()
    frame = pl.read_csv(text, comment_prefix="#", schema_overrides={"value": pl.Float64, "ci95": pl.Float64})
    return {
        (row["table"], row["setting"], row["policy"], row["metric"]): Result(
            row["value"], row["ci95"], row["note"] or ""
        )
        for row in frame.iter_rows(named=True)
    }


def result(table: str, setting: str, policy: str, metric: str) -> Result | None:
    """Return a number of the paper, None where the paper has none for it."""
    return _results().get((table, setting, policy, metric))
