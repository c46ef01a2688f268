"""Parquet files of tenants' requests: t, tenant, in_tok, out_tok."""

from collections.abc import Iterator

from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.readers.parquet import batches
from cacheroute.simulation.traces.requests import Requests

COLUMNS = ("t", "tenant", "in_tok", "out_tok")


def read_tenants(path: str, options: ReadOptions, words: Vocabulary) -> Iterator[Requests]:
    """Yield the requests.

    Raises:
        TraceFileError: the file cannot be used.
    """
    for batch in batches(path, COLUMNS, len(COLUMNS), options):
        columns = Columns(
            time=batch.rows.times("t", batch.frame["t"]),
            prompt=batch.column("in_tok"),
            output=batch.column("out_tok"),
            key=batch.column("tenant"),
        )
        yield requests(batch.rows, columns, words)
