"""Mooncake's traces as they are published (github.com/kvcache-ai/Mooncake, FAST25-release/traces): JSON lines."""

from collections.abc import Iterator

import numpy as np

from cacheroute.simulation.traces.readers.build import Columns, Vocabulary, requests
from cacheroute.simulation.traces.readers.columns import Rows
from cacheroute.simulation.traces.readers.json_lines import records
from cacheroute.simulation.traces.readers.options import ReadOptions
from cacheroute.simulation.traces.requests import Requests, Runs

BLOCK_TOKENS = 512
_IDS = "hash_ids"
_MAX_ID = 2**48


def read_mooncake(path: str, options: ReadOptions, words: Vocabulary) -> Iterator[Requests]:
    """Yield the requests: timestamp (ms since the start), input_length, output_length, hash_ids.

    Raises:
        TraceFileError: the file cannot be used.
    """
    for part in records(path, options.told):
        columns = Columns(
            time=part.rows.times("timestamp", part.column("timestamp"), 1e-3),
            prompt=("input_length", part.column("input_length")),
            output=("output_length", part.column("output_length")),
            runs=_runs(part.rows, part.column(_IDS)),
        )
        yield requests(part.rows, columns, words)


def _runs(rows: Rows, lists: list[object]) -> Runs:
    offsets, ids = [0], []
    for at, one in enumerate(lists):
        if not isinstance(one, list) or not all(
            type(number) is int and 0 <= number < _MAX_ID for number in one
        ):
            raise rows.complaint(at, _IDS, "must be a list of whole numbers from 0 to 2^48")
        ids += one
        offsets.append(len(ids))
    start = np.array(ids, dtype=np.int64)
    return Runs(np.array(offsets, dtype=np.int64), start, np.ones_like(start))
