"""The formats of tables, apart from what reads them, so that `--help` loads no reader."""

from enum import StrEnum


class TableFormat(StrEnum):
    """How a table is written down."""

    CSV = "csv"
    PARQUET = "parquet"
