"""Opens a trace of any format."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cacheroute.simulation.traces.order import HELD, in_order
from cacheroute.simulation.traces.readers import compact, runs, tenants, year
from cacheroute.simulation.traces.readers.access_log import read_access_log
from cacheroute.simulation.traces.readers.azure import LAYOUTS, azure_header, read_azure
from cacheroute.simulation.traces.readers.blocks import STARTS, block_size
from cacheroute.simulation.traces.readers.build import Vocabulary
from cacheroute.simulation.traces.readers.errors import TraceFileError
from cacheroute.simulation.traces.readers.json_lines import records
from cacheroute.simulation.traces.readers.lines import check_file, lines
from cacheroute.simulation.traces.readers.mooncake import BLOCK_TOKENS, read_mooncake
from cacheroute.simulation.traces.readers.options import ReadOptions, TraceFormat
from cacheroute.simulation.traces.readers.parquet import schema
from cacheroute.simulation.traces.requests import Requests
from cacheroute.simulation.traces.trace import UNKNOWN

_Reader = Callable[[str, ReadOptions, Vocabulary], Iterator[Requests]]
_READERS: dict[TraceFormat, _Reader] = {
    TraceFormat.ACCESS_LOG: read_access_log,
    TraceFormat.ENVOY: partial(read_access_log, envoy=True),
    TraceFormat.AZURE: read_azure,
    TraceFormat.MOONCAKE: read_mooncake,
    TraceFormat.RUNS: runs.read_runs,
    TraceFormat.TENANTS: tenants.read_tenants,
    TraceFormat.YEAR: year.read_year,
    TraceFormat.CACHEROUTE: compact.read_compact,
}
_TABLES = {
    TraceFormat.CACHEROUTE: compact.COLUMNS,
    TraceFormat.YEAR: year.COLUMNS,
    TraceFormat.RUNS: runs.COLUMNS,
    TraceFormat.TENANTS: tenants.COLUMNS,
}
"""Columns by which a Parquet file is recognised."""
_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz")
_HELD_WITH_BLOCKS = 200_000
"""Fewer are held back where requests carry hundreds of runs."""
_START_TIMES = ("start_time", "upstream_cluster", "response_flags")
"""Members that tell an access log of Envoy, the more of them the surer; the first must be there."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A trace that is being read.

    Attributes:
        name: of the file.
        format: of the file.
        calendar: times are since the epoch; otherwise since some beginning.
        words: names of keys, models and endpoints; they are complete when the parts are read.
        parts: its requests by time, once.
        block: tokens of a block, 0 where the prompts' blocks are not known.
        made_up: what of the requests is not from the file, empty where all is.
    """

    name: str
    format: TraceFormat
    calendar: bool
    words: Vocabulary
    parts: Iterator[Requests]
    block: int = 0
    made_up: str = ""


def open_trace(path: str, options: ReadOptions) -> Reading:
    """Open a file.

    Raises:
        TraceFileError: it cannot be used; reading the parts raises it as well.
    """
    check_file(path)
    form = options.format or recognise(path)
    if options.fields and form not in (TraceFormat.ACCESS_LOG, TraceFormat.ENVOY):
        raise TraceFileError(f"{path}: is of format {form}, --field is for access-log and envoy")
    words, block = Vocabulary(), _block(path, form)
    raw = _READERS[form](path, options, words)
    held = _HELD_WITH_BLOCKS if block else HELD
    own = form is not TraceFormat.CACHEROUTE or not compact.has_reconstructed_sessions(path)
    parts = _bounded(path, words, in_order(raw, partial(_late, path, held), held), own=own)
    local = form is TraceFormat.RUNS and runs.own_clocks(path)
    made_up = f"starts of sessions (Poisson, {options.session_gap:g} s apart)" if local else ""
    return Reading(path, form, _calendar(path, form), words, parts, block, made_up)


def recognise(path: str) -> TraceFormat:
    """Tell the format by the end of the name and by the columns.

    Raises:
        TraceFileError: it is none of ours.
    """
    name = Path(path).name.lower()
    if name.endswith(_PARQUET):
        return _recognise_table(path)
    if name.endswith(_CSV):
        first = next(lines(path, lambda _: None), None)
        if first is None:
            raise TraceFileError(f"{path}: is empty")
        azure_header(path, first.lines[0])
        return TraceFormat.AZURE
    return _recognise_records(path)


def _recognise_table(path: str) -> TraceFormat:
    present = set(schema(path))
    found = next((form for form, columns in _TABLES.items() if present.issuperset(columns)), None)
    if found is None:
        near = max(_TABLES, key=lambda form: len(present.intersection(_TABLES[form])))
        missing = next(column for column in _TABLES[near] if column not in present)
        raise TraceFileError(
            f"{path}: is no trace that can be read: as format {near} it lacks the column {missing}"
        )
    return found


def _recognise_records(path: str) -> TraceFormat:
    first = next(records(path, lambda _: None), None)
    if first is None:
        raise TraceFileError(f"{path}: is empty")
    sample = first.records[0]
    if "hash_ids" in sample and "input_length" in sample:
        return TraceFormat.MOONCAKE
    envoy = _START_TIMES[0] in sample and any(one in sample for one in _START_TIMES[1:])
    return TraceFormat.ENVOY if envoy else TraceFormat.ACCESS_LOG


def _block(path: str, form: TraceFormat) -> int:
    if form is TraceFormat.MOONCAKE:
        return BLOCK_TOKENS
    if form is TraceFormat.RUNS or (form is TraceFormat.CACHEROUTE and STARTS in schema(path)):
        return block_size(path)
    return 0


def _calendar(path: str, form: TraceFormat) -> bool:
    if form is TraceFormat.CACHEROUTE:
        return compact.has_calendar(path)
    if form is TraceFormat.AZURE:
        first = next(lines(path, lambda _: None), None)
        return first is not None and LAYOUTS[0][0].encode() in first.lines[0]
    return form in (TraceFormat.ACCESS_LOG, TraceFormat.ENVOY)


def _late(path: str, held: int, row: int) -> TraceFileError:
    return TraceFileError(
        f"{path}:{row}: time: is earlier than that of a request over {held // 2:,} rows before; sort the file by time"
    )


MAX_SPAN = 10 * 366 * 86_400.0
"""Seconds from the first to the last request."""


def _bounded(path: str, words: Vocabulary, parts: Iterator[Requests], *, own: bool) -> Iterator[Requests]:
    """See that there is a request, that all are within MAX_SPAN, and whether sessions are the log's own."""
    first = None
    for part in parts:
        if part.size:
            first = float(part.time[0]) if first is None else first
            if part.time[-1] - first > MAX_SPAN:
                at = int((part.time - first > MAX_SPAN).argmax())
                raise TraceFileError(
                    f"{path}:{part.row[at]}: time: is over ten years after the first request's"
                )
            words.sessions = words.sessions or (own and bool((part.session != UNKNOWN).any()))
            yield part
    if first is None:
        what = (
            f"has no request with prompt tokens, {words.left_out:,} rows without"
            if words.left_out
            else "has no rows"
        )
        raise TraceFileError(f"{path}: {what}")
