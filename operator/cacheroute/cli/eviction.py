"""`cacheroute replay --eviction`: one cache in place of a fleet."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cacheroute.cli.output import Output, write
from cacheroute.cli.replay_tables import caution_lines
from cacheroute.cli.simulation_options import read
from cacheroute.cli.tables import add, show, table
from cacheroute.cli.trace import complaints

if TYPE_CHECKING:
    from cacheroute.simulation.traces.readers.options import TraceFormat
    from cacheroute.simulation.traces.trace import Trace

EVERY = "all"


def replay_evictions(
    source: tuple[str, "TraceFormat | None", dict[str, str], int],
    fleet: tuple[int, str, int | None],
    names: Sequence[str],
    jobs: int,
    output: Output,
) -> None:
    """Replay a trace over one cache for each algorithm and size, and print how much they find.

    Args:
        source: file, its format, names of its fields, and the most requests that are read.
        fleet: destinations, engine, and KV cache tokens of a destination where they are not the engine's.
        names: of the algorithms, or ``all``.
        jobs: processes.
        output: how it is printed.
    """
    with complaints():
        from cacheroute.simulation.experiments.progress import progress_bar
        from cacheroute.simulation.replay.eviction import Algorithm, algorithm
        from cacheroute.simulation.replay.eviction_sweep import powers, sweep_evictions
        from cacheroute.simulation.shadow.replay import Question

        chosen = list(Algorithm) if EVERY in names else [algorithm(name) for name in dict.fromkeys(names)]
        destinations, engine, kv_tokens = fleet
        tokens = Question(destinations, engine, kv_tokens=kv_tokens).tokens
        trace = read(*source)
        capacities = [size * tokens for size in powers(destinations)]
        with progress_bar("replaying") as tell:
            rows = sweep_evictions(trace, chosen, capacities, jobs=jobs or 1, tell=tell)
    found = {
        **_head(trace, tokens),
        "caches": [
            {
                "eviction": row.chosen.value,
                "destinations": row.capacity // tokens,
                "capacity_tokens": row.capacity,
                "token_hit": row.found.token_hit,
                "request_hit": row.found.request_hit,
            }
            for row in rows
        ],
    }
    if output is Output.TABLE:
        _show(found)
    else:
        write(found, output)


def _head(trace: "Trace", tokens: int) -> dict[str, Any]:
    from cacheroute.simulation.shadow.cautions import of_sharing
    from cacheroute.simulation.traces.blocks import Sharing

    return {
        "requests": trace.size,
        "evicted_by": "session" if trace.blocks is None else "block",
        "destination_tokens": tokens,
        "cautions": list(of_sharing(trace, Sharing())),
    }


def _show(found: dict[str, Any]) -> None:
    sizes = sorted({row["destinations"] for row in found["caches"]})
    made = table(
        "eviction",
        *(f"{size} destination{'s' if size > 1 else ''}" for size in sizes),
        title=(
            f"Prompt tokens found in one cache of so many destinations' KV tokens ({found['destination_tokens']:,} each), "
            f"{found['requests']:,} requests, evicted by {found['evicted_by']}"
        ),
    )
    for name in dict.fromkeys(row["eviction"] for row in found["caches"]):
        hits = [row["token_hit"] for row in found["caches"] if row["eviction"] == name]
        add(made, name, *(f"{100 * hit:.1f} %" for hit in hits))
    show(made, *caution_lines(found))
